package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lmittmann/tint"
)

// NewLogger writes to a file: for people when that is a terminal, else as JSON lines.
func NewLogger(f *os.File, level slog.Leveler) *slog.Logger {
	return slog.New(NewHandler(f, terminal(f), level))
}

func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// NewHandler is a handler for people or for machines. Neither lets text from outside begin a line, move the
// cursor or change a colour.
func NewHandler(w io.Writer, people bool, level slog.Leveler) slog.Handler {
	if !people {
		return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})
	}
	return visible{tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05.000", ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		a.Key = Visible(a.Key)
		switch a.Value.Kind() {
		case slog.KindString:
			a.Value = slog.StringValue(Visible(a.Value.String()))
		case slog.KindAny:
			switch v := a.Value.Any().(type) {
			case slog.Level, *slog.Source: // the handler's own
			case error:
				a.Value = slog.AnyValue(errors.New(Visible(v.Error())))
			default:
				a.Value = slog.StringValue(Visible(fmt.Sprint(v)))
			}
		}
		return a
	}})}
}

// visible makes messages safe; tint itself writes them as they are.
type visible struct{ slog.Handler }

func (h visible) Handle(ctx context.Context, r slog.Record) error {
	r.Message = Visible(r.Message)
	return h.Handler.Handle(ctx, r)
}

func (h visible) WithAttrs(attrs []slog.Attr) slog.Handler {
	return visible{h.Handler.WithAttrs(attrs)}
}
func (h visible) WithGroup(name string) slog.Handler {
	return visible{h.Handler.WithGroup(Visible(name))}
}

// maxText bounds what one text from outside takes in a log line.
const maxText = 512

// Visible is the text with everything that cannot be seen written as \uXXXX, and cut at a bound. A text that
// spells an escape out, as \x1b, is respelled too: tint makes a true escape character of it when it quotes.
func Visible(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	s = strings.ReplaceAll(s, `\x1b`, `\u001b`)
	safe := func(r rune) bool { return r != utf8.RuneError && unicode.IsPrint(r) }
	if strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if safe(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
