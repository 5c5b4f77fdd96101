package web

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func get(t *testing.T, method, target string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

// every walks the embedded files.
func every(t *testing.T, look func(name, text string)) {
	t.Helper()
	n := 0
	require.NoError(t, fs.WalkDir(files, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		n++
		look(name, string(data))
		return err
	}))
	require.Greater(t, n, 20, "the page's files are embedded")
}

func TestEveryFileIsServed(t *testing.T) {
	every(t, func(name, text string) {
		r := get(t, http.MethodGet, "/"+name)
		require.Equal(t, http.StatusOK, r.StatusCode, name)
		require.NotEmpty(t, types[path.Ext(name)], "%s: no type is known for its ending", name)
		require.Equal(t, types[path.Ext(name)], r.Header.Get("Content-Type"), name)
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.Equal(t, text, string(body), name)
	})
	index := get(t, http.MethodGet, "/")
	require.Equal(t, http.StatusOK, index.StatusCode)
	require.Equal(t, "text/html; charset=utf-8", index.Header.Get("Content-Type"))
}

// The policy is written out: a looser one has to be a decision that is seen in this test.
func TestHeaders(t *testing.T) {
	for _, target := range []string{"/", "/assets/main.js", "/assets/nothing"} {
		r := get(t, http.MethodGet, target)
		require.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; "+
			"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'", r.Header.Get("Content-Security-Policy"), target)
		require.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"), target)
		require.Equal(t, "DENY", r.Header.Get("X-Frame-Options"), target)
		require.Equal(t, "no-referrer", r.Header.Get("Referrer-Policy"), target)
		require.Equal(t, "same-origin", r.Header.Get("Cross-Origin-Opener-Policy"), target)
	}
}

// A browser asks each time whether its copy is the one of this binary, and is answered without the file when it is.
func TestCopiesAreAskedAbout(t *testing.T) {
	first := get(t, http.MethodGet, "/assets/stream.js")
	require.Equal(t, "no-cache", first.Header.Get("Cache-Control"))
	tag := first.Header.Get("ETag")
	require.NotEmpty(t, tag)
	require.Equal(t, http.StatusNotModified, get(t, http.MethodGet, "/assets/stream.js", "If-None-Match", tag).StatusCode)
	require.Equal(t, http.StatusOK, get(t, http.MethodGet, "/assets/stream.js", "If-None-Match", `"another"`).StatusCode)
	require.NotEqual(t, tag, get(t, http.MethodGet, "/assets/main.js").Header.Get("ETag"))
}

func TestWhatIsNotThere(t *testing.T) {
	for _, target := range []string{"/assets/", "/assets/nothing.js", "/assets/../web.go", "/index.html", "/assets"} {
		require.Equal(t, http.StatusNotFound, get(t, http.MethodGet, target).StatusCode, target)
	}
	require.Equal(t, http.StatusMethodNotAllowed, get(t, http.MethodPost, "/").StatusCode)
	head := get(t, http.MethodHead, "/assets/main.js")
	require.Equal(t, http.StatusOK, head.StatusCode)
	require.NotEmpty(t, head.Header.Get("ETag"))
}

// Nothing from another host, and no way from a text to markup or to code. The policy refuses it in the browser; here it
// is refused before.
func TestNothingDangerousIsInTheFiles(t *testing.T) {
	forbidden := map[string]*regexp.Regexp{
		"an address of another host": regexp.MustCompile(`(?i)\b(https?|wss?|ftp):|["'(]//[a-z]`),
		"a text made into markup":    regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc|setHTML`),
		"a text made into code":      regexp.MustCompile(`\beval\b|new Function|setTimeout\(["'` + "`" + `]|javascript:|\bimport\(`),
		"a store of its own":         regexp.MustCompile(`localStorage|sessionStorage|indexedDB|document\.cookie|serviceWorker|sendBeacon|keepalive`),
	}
	every(t, func(name, text string) {
		text = strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "") // a name, not an address
		for what, found := range forbidden {
			require.Empty(t, found.FindString(text), "%s: %s", name, what)
		}
	})
}

func TestThePageHasNoInlineCode(t *testing.T) {
	index, err := files.ReadFile("assets/index.html")
	require.NoError(t, err)
	text := string(index)
	require.NotRegexp(t, `(?i)\son[a-z]+\s*=`, text, "a handler in the markup")
	require.NotRegexp(t, `(?i)\sstyle\s*=|<style`, text, "a style in the markup")
	for _, tag := range regexp.MustCompile(`(?is)<script[^>]*>.*?</script>`).FindAllString(text, -1) {
		require.Regexp(t, `^<script type="module" src="/assets/[a-z]+\.js"></script>$`, tag)
	}
}

// What the page and its modules refer to is there.
func TestReferencesResolve(t *testing.T) {
	reference := regexp.MustCompile(`(?:from "\./|(?:src|href)="/assets/)([a-z]+\.(?:js|css|svg))"`)
	seen := map[string]bool{"index.html": true}
	every(t, func(name, text string) {
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			seen[m[1]] = true
			_, err := files.ReadFile("assets/" + m[1])
			require.NoError(t, err, "%s refers to %s", name, m[1])
		}
	})
	every(t, func(name, _ string) { require.True(t, seen[path.Base(name)], "nothing refers to %s", name) })
}

// One file owns the stream, one the requests: elsewhere nothing is opened and nothing is sent.
func TestOneFileOwnsEachWire(t *testing.T) {
	owners := map[string][]string{"new EventSource": {"stream.js"}, "fetch(": {"requests.js", "health.js"}, `method: "POST"`: {"requests.js"}, "XMLHttpRequest": nil, "WebSocket": nil}
	for call, owner := range owners {
		every(t, func(name, text string) {
			if strings.Contains(text, call) {
				require.Contains(t, owner, path.Base(name), "%s is used by %s", call, name)
			}
		})
	}
}

// A file can be held in the head; the dictionary is looked things up in.
func TestFilesAreSmall(t *testing.T) {
	every(t, func(name, text string) {
		most := 400
		if path.Base(name) == "texts.js" {
			most = 600
		}
		require.LessOrEqual(t, strings.Count(text, "\n"), most, name)
	})
}

// Each text that a module asks for by its name exists: a missing one would be shown as "undefined".
func TestTextsExist(t *testing.T) {
	data, err := files.ReadFile("assets/texts.js")
	require.NoError(t, err)
	texts := string(data)
	section := func(name string) string {
		_, rest, found := strings.Cut(texts, "\n  "+name+": {")
		require.True(t, found, "texts.js has no section %s", name)
		end := regexp.MustCompile(`(?m)^  \}|^  [a-zA-Z]+: |^\};`).FindStringIndex(rest)
		require.NotNil(t, end, name)
		return rest[:end[0]]
	}
	n := 0
	every(t, func(name, text string) {
		for _, m := range regexp.MustCompile(`\bt\.([a-zA-Z]+)\.([a-zA-Z_]+)`).FindAllStringSubmatch(text, -1) {
			n++
			require.Regexp(t, `[\s{]`+m[2]+`:`, section(m[1]), "%s asks for t.%s.%s", name, m[1], m[2])
		}
	})
	require.Greater(t, n, 100)
}
