package embedded

import (
	"context"
	"errors"
	"log/slog"
	"os"
)

var chromiumSoftware = software{
	title:   "Chromium",
	install: "chromium",
	byHand:  "install it (Debian: 'apt-get install chromium'), so that the page is tried in a real browser",
}

// ErrNoChromium is the answer where the browser is not installed and we may not install it: unpacked for one user it
// would need most of a desktop's libraries beside it.
var ErrNoChromium = errors.New("Chromium was not found, and only root can bring it: " + chromiumSoftware.byHand)

// Chromium finds the browser that tests drive. As root it is brought when it is missing.
func Chromium(ctx context.Context, log *slog.Logger) (Program, error) {
	packages, err := packagesFolder("")
	if err != nil {
		return Program{}, err
	}
	if found := findProgram(packages, "chromium"); found.Path != "" {
		return found, nil
	}
	if os.Geteuid() != 0 {
		return Program{}, ErrNoChromium
	}
	return findOrBring(ctx, loggerOrNone(log), packages, chromiumSoftware, "chromium")
}
