package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed assets
var files embed.FS

// policy of the page: its own scripts, styles, pictures and requests, nothing else. Trusted Types make the browser
// refuse a text where markup could come from it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// types are those of the files that there are; another ending is a fault of the build, found by the tests.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

type asset struct {
	data        []byte
	contentType string
	tag         string // strong: a hash of the content
}

// Handler serves the page at / and its files below /assets/.
func Handler() http.Handler {
	assets := map[string]asset{}
	err := fs.WalkDir(files, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		assets["/"+name] = asset{data, types[path.Ext(name)], `"` + base64.RawURLEncoding.EncodeToString(sum[:15]) + `"`}
		return nil
	})
	if err != nil { // files of the binary itself can always be read
		panic(err)
	}
	assets["/"] = assets["/assets/index.html"]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, assets) })
}

// serve answers with one file. no-cache: a browser asks each time whether its copy is still the one of this binary, so
// that after an update no page mixes old and new files.
func serve(w http.ResponseWriter, r *http.Request, assets map[string]asset) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "This address only shows the page.", http.StatusMethodNotAllowed)
		return
	}
	found, is := assets[r.URL.Path]
	if !is {
		h.Set("Cache-Control", "no-store")
		http.Error(w, "There is no such file.", http.StatusNotFound)
		return
	}
	h.Set("Content-Type", found.contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", found.tag)
	http.ServeContent(w, r, strings.TrimPrefix(r.URL.Path, "/"), time.Time{}, bytes.NewReader(found.data))
}
