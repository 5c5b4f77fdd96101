package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

type env map[string]string

func (e env) lookup(k string) (string, bool) { v, ok := e[k]; return v, ok }

// written puts files into a fresh folder and returns the path of the first.
func written(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, files[0])
}

func TestLoad(t *testing.T) {
	full := `
database: {url: "postgres://surehand:s3cret@db1:5432,db2:5432/surehand?target_session_attrs=read-write"}
mqtt:
  url: mqtts://broker.plant:8883
  username: surehand
  passwordFile: mqtt.password
  prefix: acme/surehand/v1
http: {listen: "[::1]:9000"}
log: {format: json, level: debug}
sessionExpiry: 72h
`
	path := written(t, "surehand.yaml", full, "mqtt.password", "hunter2\n")
	c, err := Load(path, env{}.lookup)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{Database: Database{NewSecret("postgres://surehand:s3cret@db1:5432,db2:5432/surehand?target_session_attrs=read-write")},
		MQTT: MQTT{URL: "mqtts://broker.plant:8883", Username: "surehand", PasswordFile: filepath.Join(filepath.Dir(path), "mqtt.password"), Password: NewSecret("hunter2"),
			Prefix: "acme/surehand/v1"},
		HTTP: HTTP{"[::1]:9000"}, Log: Log{"json", slog.LevelDebug}, SessionExpiry: 72 * time.Hour}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v", c)
	}
	// The environment wins, and is enough.
	c, err = Load("", env{"SUREHAND_DATABASE_URL": "postgres://x/y"}.lookup)
	if err != nil {
		t.Fatal(err)
	}
	want = Config{Database: Database{NewSecret("postgres://x/y")}, MQTT: MQTT{URL: "mqtt://127.0.0.1:1883", Prefix: "surehand/v1"},
		HTTP: HTTP{"127.0.0.1:8750"}, Log: Log{"auto", slog.LevelInfo}, SessionExpiry: 24 * time.Hour}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v", c)
	}
	c, err = Load(path, env{"SUREHAND_DATABASE_URL": "postgres://x/y", "SUREHAND_LOG_LEVEL": "error", "SUREHAND_HTTP_LISTEN": ""}.lookup)
	if err != nil || c.Database.URL.Reveal() != "postgres://x/y" || c.Log.Level != slog.LevelError || c.HTTP.Listen != "[::1]:9000" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestLoadProblems(t *testing.T) {
	database := "database: {url: postgres://x/y}\n"
	tests := []struct{ name, file, want string }{
		{"nothing set", "", "/database/url: is missing"},
		{"an unknown key", database + "mqtt:\n  urll: x", "line 3: /mqtt/urll: is no key here; known are url, username"},
		{"an unknown section", database + "mqqt: {}", "line 2: /mqqt: is no key here; known are database, mqtt, http, log, sessionExpiry"},
		{"a key twice", "log: {level: info}\nlog: {level: debug}", "line 2"},
		{"no YAML", "mqtt: [", "configuration"},
		{"a section that is a word", database + "mqtt: mqtt://x", "line 2: /mqtt: must be a mapping"},
		{"another database", "database: {url: mysql://root:s3cret@x/y}", "line 1: /database/url: must start with postgres://"},
		{"all interfaces", database + "http: {listen: 0.0.0.0:8750}", "line 2: /http/listen: \"0.0.0.0:8750\" could be reached from other machines"},
		{"no host", database + "http: {listen: \":8750\"}", "no users and roles yet"},
		{"a name", database + "http: {listen: plant.example:80}", "no users and roles yet"},
		{"a mapped address", database + "http: {listen: \"[::ffff:10.0.0.1]:80\"}", "no users and roles yet"},
		{"no port", database + "http: {listen: 127.0.0.1}", "must be host:port"},
		{"a port too high", database + "http: {listen: 127.0.0.1:70000}", "must be host:port"},
		{"a log format", database + "log: {format: xml}", "none of auto, text, json"},
		{"a log level", database + "log: {level: INFO+1}", "none of debug"},
		{"an http broker", database + "mqtt: {url: http://x}", "not \"http://x\""},
		{"a user in the broker's address", database + "mqtt: {url: mqtt://u:s3cret@x}", "the user goes into mqtt.username"},
		{"a path in the broker's address", database + "mqtt: {url: mqtt://x/y}", "must end with the port"},
		{"a wildcard in the prefix", database + "mqtt: {prefix: a/+}", "is no topic prefix"},
		{"an empty level in the prefix", database + "mqtt: {prefix: a//b}", "is no topic prefix"},
		{"a password file that is missing", database + "mqtt: {username: u, passwordFile: none}", "no such file"},
		{"a password file that is empty", database + "mqtt: {username: u, passwordFile: empty}", "is empty"},
		{"a password file of two lines", database + "mqtt: {username: u, passwordFile: two}", "more than one line"},
		{"a password without a user", database + "mqtt: {passwordFile: one}", "mqtt.username"},
		{"a short session", database + "sessionExpiry: 5s", "line 2: /sessionExpiry: \"5s\" is no duration such as 24h"},
		{"all at once", "log: {level: x}\nsessionExpiry: y\n", "sessionExpiry"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := written(t, "surehand.yaml", tt.file, "empty", "\n", "one", "s3cret", "two", "s3cret\ns3cret")
			_, err := Load(path, env{}.lookup)
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error prints a secret: %v", err)
			}
		})
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), env{}.lookup); err == nil {
		t.Error("a file that is missing was read")
	}
	if _, err := Load("", env{"SUREHAND_DATABASE_URL": "x", "SUREHAND_HTTP_LISTEN": "10.0.0.1:1"}.lookup); err == nil ||
		!strings.Contains(err.Error(), "SUREHAND_HTTP_LISTEN: ") || !strings.Contains(err.Error(), "SUREHAND_DATABASE_URL: must start") {
		t.Errorf("got %v", err)
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	c := Config{Database: Database{NewSecret("s3cret")}, MQTT: MQTT{Password: NewSecret("s3cret")}}
	hidden := struct{ inner Config }{c}
	var b strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		fmt.Fprintf(&b, verb+verb+verb, c, &c, hidden)
	}
	j, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(j)
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "c", c, "s", c.MQTT.Password)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "c", c, "s", c.MQTT.Password)
	if s := b.String(); strings.Contains(s, "s3cret") || strings.Contains(s, fmt.Sprintf("%x", "s3cret")) {
		t.Errorf("printed: %s", s)
	}
	if c.MQTT.Password.Reveal() != "s3cret" || c.MQTT.Password.Empty() || !NewSecret("").Empty() || NewSecret("").Reveal() != "" {
		t.Error("a secret is lost")
	}
}

func TestAClientNeedsNoDatabase(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	c, err := LoadClient("", none)
	if err != nil || c.HTTP.Listen == "" {
		t.Errorf("%+v, %v", c.HTTP, err)
	}
	if _, err := Load("", none); err == nil {
		t.Error("the process itself started without a database")
	}
}
