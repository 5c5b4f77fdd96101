package api

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/message"
)

func TestUnknownRoutesAndMethodsAreProblems(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"/", "/api", "/api/v1", "/api/v1/", "/api/v1/nothing", "/api/v2/commands", "/metrics", "/api/v1/commands/" + idA + "/more"} {
		requireProblem(t, b.ask(http.MethodGet, path, ""), http.StatusNotFound, "no_such_route")
	}
	w := b.ask(http.MethodDelete, "/api/v1/commands", "")
	requireProblem(t, w, http.StatusMethodNotAllowed, "method_not_allowed")
	require.Equal(t, []string{"GET", "POST"}, w.Header().Values("Allow"))
	w = b.ask(http.MethodPost, "/api/v1/devices/fan", "{}")
	requireProblem(t, w, http.StatusMethodNotAllowed, "method_not_allowed")
	require.Equal(t, []string{"GET"}, w.Header().Values("Allow"))
}

func TestBodiesAreBoundedAndStrict(t *testing.T) {
	long := strings.Repeat("x", maxReason+1)
	const imports, verdict, release = "/api/v1/configuration/import", hand + "/" + idA + "/verdict", "/api/v1/holds/release"
	for name, c := range map[string]struct {
		path, body, mediaType string
		status                int
		code, pointer         string
	}{
		"too large":               {hand, `{"reason":"` + strings.Repeat("x", maxBody) + `"}`, "application/json", 413, "body_too_large", ""},
		"import too large":        {imports, strings.Repeat(" ", maxImport+1), "text/yaml", 413, "body_too_large", ""},
		"no body":                 {hand, ``, "application/json", 400, "malformed", ""},
		"half a body":             {hand, `{"endpoint":"fa`, "application/json", 400, "malformed", ""},
		"no JSON":                 {hand, `endpoint=fan`, "application/json", 400, "malformed", ""},
		"two values":              {hand, onBody + onBody, "application/json", 400, "malformed", ""},
		"other type":              {hand, onBody, "text/plain", 415, "unsupported_media_type", ""},
		"form":                    {hand, "a=b", "application/x-www-form-urlencoded", 415, "unsupported_media_type", ""},
		"no type":                 {hand, onBody, "", 415, "unsupported_media_type", ""},
		"other charset":           {hand, onBody, "application/json; charset=utf-16", 415, "unsupported_media_type", ""},
		"YAML to a JSON route":    {hand, "endpoint: fan/on", "application/yaml", 415, "unsupported_media_type", ""},
		"unknown field":           {hand, `{"endpoint":"fan/on","value":1,"vlaue":2}`, "application/json", 422, "invalid", "/vlaue"},
		"wrong type of a field":   {hand, `{"endpoint":7,"value":1}`, "application/json", 422, "invalid", "/endpoint"},
		"no endpoint":             {hand, `{"value":1}`, "application/json", 422, "invalid", "/endpoint"},
		"no value":                {hand, `{"endpoint":"fan/on"}`, "application/json", 422, "invalid", "/value"},
		"null value":              {hand, `{"endpoint":"fan/on","value":null}`, "application/json", 422, "invalid", "/value"},
		"object value":            {hand, `{"endpoint":"fan/on","value":{}}`, "application/json", 422, "invalid", "/value"},
		"endless number":          {hand, `{"endpoint":"fan/on","value":1e999}`, "application/json", 422, "invalid", "/value"},
		"NUL in a text":           {hand, `{"endpoint":"fan/on","value":1,"reason":"a\u0000b"}`, "application/json", 422, "invalid", ""},
		"long reason":             {hand, `{"endpoint":"fan/on","value":1,"reason":"` + long + `"}`, "application/json", 422, "invalid", "/reason"},
		"long reason of a cancel": {hand + "/" + idA + "/cancel", `{"reason":"` + long + `"}`, "application/json", 422, "invalid", "/reason"},
		"odd verdict":             {verdict, `{"verdict":"maybe","reason":"x"}`, "application/json", 422, "invalid", "/verdict"},
		"verdict without reason":  {verdict, `{"verdict":"applied"}`, "application/json", 422, "invalid", "/reason"},
		"cancel of no id":         {hand + "/nothing/cancel", ``, "", 404, "not_found", ""},
		"verdict of no id":        {hand + "/nothing/verdict", `{}`, "application/json", 404, "not_found", ""},
		"release of nothing":      {release, `{"hold":"parked","reason":"x"}`, "application/json", 422, "invalid", "/subject"},
		"release of an odd hold":  {release, `{"subject":"devices","hold":"x","reason":"x"}`, "application/json", 422, "invalid", "/hold"},
		"release without reason":  {release, `{"subject":"devices","hold":"parked"}`, "application/json", 422, "invalid", "/reason"},
		"import with a fault":     {imports, "bad", "text/yaml", 422, "invalid", "/devices/0"},
		"import that is no UTF-8": {imports, "\xff", "text/yaml", 400, "malformed", ""},
		"import, unknown field":   {imports, `{"frams":[]}`, "application/json", 422, "invalid", "/frams"},
		"import, wrong type":      {imports, `{"farms":[{"id":true}]}`, "application/json", 422, "invalid", "/farms/id"},
		"import, bad duration":    {imports, `{"rules":[{"holdOff":"soon"}]}`, "application/json", 422, "invalid", ""},
		"import, NUL in a name":   {imports, "a\x00b", "text/yaml", 422, "invalid", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			w := b.ask(http.MethodPost, c.path, c.body, func(r *http.Request) {
				r.Header.Del("Content-Type")
				if c.mediaType != "" {
					r.Header.Set("Content-Type", c.mediaType)
				}
			})
			p := requireProblem(t, w, c.status, c.code)
			if c.code == "invalid" {
				require.Equal(t, c.pointer, p.Problems[0].Pointer)
			}
			require.Empty(t, b.loop.posted, "nothing was posted")
		})
	}
}

func TestImportTakesYAML(t *testing.T) {
	b := newBench(t)
	for _, mediaType := range []string{"text/yaml", "application/yaml; charset=UTF-8"} {
		w := b.ask(http.MethodPost, "/api/v1/configuration/import", "name", header("Content-Type", mediaType))
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.Equal(t, message.ImportDevices{Farms: []message.ImportFarm{{ID: "farm", Name: "name"}}}, b.loop.last(t).Payload)
	}
	b.o.ParseDevices = nil
	b.face = b.routes // the document describes a server that reads files
	w := b.ask(http.MethodPost, "/api/v1/configuration/import", "name", header("Content-Type", "text/yaml"))
	requireProblem(t, w, http.StatusUnsupportedMediaType, "unsupported_media_type")
}

func TestOnlyThisMachineByItsOwnName(t *testing.T) {
	b := newBench(t)
	b.o.Hosts = []string{"surehand.plant.example"}
	for host, ok := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LOCALHOST.": true, "127.0.0.1": true, "127.0.0.1:80": true, "127.9.9.9": true, "[::1]": true,
		"[::1]:8080": true, "surehand.plant.example:80": true, "evil.example": false, "evil.example:8080": false, "localhost.evil.example": false,
		"127.0.0.1.evil.example": false, "192.168.1.4": false, "": false, "[::2]:80": false,
	} {
		for _, path := range []string{"/api/v1/farms", "/healthz"} {
			w := b.ask(http.MethodGet, path, "", func(r *http.Request) { r.Host = host })
			if ok {
				require.Equal(t, http.StatusOK, w.Code, host)
				continue
			}
			requireProblem(t, w, http.StatusMisdirectedRequest, "unknown_host")
		}
	}
}

func TestNoOtherSiteWrites(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*http.Request)
		ok   bool
	}{
		"no browser":          {func(*http.Request) {}, true},
		"our own page":        {header("Sec-Fetch-Site", "same-origin"), true},
		"our own origin":      {header("Origin", "http://localhost"), true},
		"another site":        {header("Sec-Fetch-Site", "cross-site"), false},
		"another subdomain":   {header("Sec-Fetch-Site", "same-site"), false},
		"another origin":      {header("Origin", "http://evil.example"), false},
		"another port":        {header("Origin", "http://localhost:9999"), false},
		"an origin of nobody": {header("Origin", "null"), false},
	} {
		b := newBench(t)
		w := b.ask(http.MethodPost, hand, onBody, c.edit)
		if c.ok {
			require.Equal(t, http.StatusOK, w.Code, name)
			continue
		}
		requireProblem(t, w, http.StatusForbidden, "cross_origin")
		require.Empty(t, b.loop.posted)
		require.Equal(t, http.StatusOK, b.ask(http.MethodGet, "/api/v1/farms", "", c.edit).Code, "reading changes nothing; the browser keeps the answer from the page")
	}
}

func TestAPanicIsOneFailedRequest(t *testing.T) {
	b := newBench(t)
	b.o.Health = func() Health { panic(errors.New("secret")) }
	w := b.ask(http.MethodGet, "/healthz", "")
	requireProblem(t, w, http.StatusInternalServerError, "internal")
	require.NotContains(t, w.Body.String(), "secret")
	require.Equal(t, http.StatusOK, b.ask(http.MethodGet, "/api/v1/farms", "").Code)
}
