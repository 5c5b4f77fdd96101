package config

import (
	"math"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"surehand/internal/message"
)

// Load reads the configuration: the file at path (none if path is empty), then the environment, then
// defaults. env is os.LookupEnv outside tests. Its error is an *Error that names every problem, and no secret.
func Load(path string, env func(string) (string, bool)) (Config, error) {
	return load(path, env, false)
}

// LoadClient is Load for a command that only speaks to the running process: it has nothing to do with the database,
// and whoever types it may not know its password.
func LoadClient(path string, env func(string) (string, bool)) (Config, error) {
	return load(path, env, true)
}

func load(path string, env func(string) (string, bool), client bool) (Config, error) {
	l := &loader{client: client, dir: filepath.Dir(path), env: env, sections: map[string]object{}}
	l.read(path)
	var c Config
	if len(l.problems) == 0 {
		c = l.config()
	}
	if len(l.problems) > 0 {
		return Config{}, &Error{Path: path, Problems: l.problems}
	}
	return c, nil
}

func line(p message.Problem) string {
	s := ""
	if p.Line > 0 {
		s = "line " + strconv.Itoa(p.Line) + ": "
	}
	if p.Pointer != "" {
		s += p.Pointer + ": "
	}
	return s
}

type loader struct {
	form
	client   bool
	dir      string // of the file: other files are named relative to it
	env      func(string) (string, bool)
	sections map[string]object
}

// read takes the file apart into its sections.
func (l *loader) read(path string) {
	var root *node
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			l.fault(0, "", "%v", err)
			return
		}
		n, problem := parse(data)
		if problem != nil {
			l.problems = append(l.problems, *problem)
			return
		}
		root = n
	}
	keys := map[string][]string{}
	var top []string
	for _, s := range settings() {
		keys[s.section] = append(keys[s.section], s.key)
		if name := s.section; name != "" && !slices.Contains(top, name) {
			top = append(top, name)
		}
	}
	all := l.object(root, "", append(slices.Clone(top), keys[""]...)...)
	l.sections[""] = all
	for _, name := range top {
		l.sections[name] = all.object(name, keys[name]...)
	}
}

// origin says where a value stands, for its problem.
type origin struct {
	line int
	at   string
}

func (l *loader) get(s setting) (string, origin) {
	if v, ok := l.env(s.env); ok && v != "" {
		return v, origin{at: s.env}
	}
	o := l.sections[s.section]
	from := origin{at: o.at + "/" + s.key, line: o.fields[s.key].line}
	if v := o.text(s.key); v != "" {
		return v, from
	}
	return s.preset, from
}

func (l *loader) wrong(from origin, format string, args ...any) {
	l.fault(from.line, from.at, format, args...)
}

func (l *loader) config() Config {
	c := Config{Database: Database{URL: l.database()}, MQTT: l.mqtt(), HTTP: HTTP{Listen: l.listen()}}
	v, from := l.get(logFormat)
	if c.Log.Format = v; !slices.Contains([]string{"auto", "text", "json"}, v) {
		l.wrong(from, "%q is none of auto, text, json", v)
	}
	v, from = l.get(logLevel)
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, v) {
		l.wrong(from, "%q is none of debug, info, warn, error", v)
	} else if err := c.Log.Level.UnmarshalText([]byte(v)); err != nil {
		l.wrong(from, "%v", err)
	}
	v, from = l.get(sessionExpires)
	d, err := time.ParseDuration(v)
	if err != nil || d < time.Minute || d > math.MaxUint32*time.Second {
		l.wrong(from, "%q is no duration such as 24h, at least 1m", v)
	}
	c.SessionExpiry = d
	return c
}

// database checks as much of the address as can be said without repeating it: it holds a password.
func (l *loader) database() Secret {
	v, from := l.get(databaseURL)
	switch {
	case v == "" && l.client:
	case v == "":
		l.wrong(from, "is missing: set database.url in the file or %s in the environment, such as postgres://surehand@127.0.0.1/surehand", databaseURL.env)
	case !strings.HasPrefix(v, "postgres://") && !strings.HasPrefix(v, "postgresql://"):
		l.wrong(from, "must start with postgres:// or postgresql://")
	}
	return NewSecret(v)
}

func (l *loader) mqtt() MQTT {
	m := MQTT{URL: l.broker()}
	m.Username, _ = l.get(mqttUsername)
	var from origin
	if m.PasswordFile, from = l.get(mqttPassword); m.PasswordFile != "" {
		if !filepath.IsAbs(m.PasswordFile) && from.at != mqttPassword.env {
			m.PasswordFile = filepath.Join(l.dir, m.PasswordFile)
		}
		var err error
		if m.Password, err = secretFile(m.PasswordFile); err != nil {
			l.wrong(from, "%v", err)
		}
		if m.Username == "" {
			l.wrong(from, "is set, but %s is not", mqttUsername.path())
		}
	}
	if m.Prefix, from = l.get(mqttPrefix); !validPrefix(m.Prefix) {
		l.wrong(from, "%q is no topic prefix: words of letters, digits, '-', '_' and '.' with '/' between them, at most 128 characters", m.Prefix)
	}
	return m
}

func (l *loader) broker() string {
	v, from := l.get(mqttURL)
	u, err := url.Parse(v)
	switch {
	case err != nil || u.User != nil: // neither is repeated: it may hold a password
		l.wrong(from, "must be mqtt://host:port or mqtts://host:port; the user goes into %s, the password into the file that %s names",
			mqttUsername.path(), mqttPassword.path())
	case u.Scheme != "mqtt" && u.Scheme != "mqtts" || u.Hostname() == "":
		l.wrong(from, "must be mqtt://host:port or mqtts://host:port, not %q", v)
	case u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/":
		l.wrong(from, "must end with the port")
	}
	return v
}

// listen: until there are users and roles, whoever reaches the API may do everything.
func (l *loader) listen() string {
	v, from := l.get(httpListen)
	host, port, err := net.SplitHostPort(v)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n == 0 && port != "0" {
		l.wrong(from, "%q must be host:port, such as %s", v, httpListen.preset)
		return v
	}
	ip, err := netip.ParseAddr(host)
	if host != "localhost" && (err != nil || !ip.Unmap().IsLoopback()) {
		l.wrong(from, "%q could be reached from other machines, and there are no users and roles yet: anyone could drive the plant. "+
			"Listen on 127.0.0.1 and let a reverse proxy that asks for a login stand in front", v)
	}
	return v
}

func validPrefix(s string) bool {
	return len(s) <= 128 && !slices.ContainsFunc(strings.Split(s, "/"), func(w string) bool { return !validWord(w) })
}

func validWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	})
}
