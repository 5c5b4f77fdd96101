package config

import (
	"log/slog"
	"time"

	"surehand/internal/message"
)

// Config is the configuration of one process.
type Config struct {
	Database Database
	MQTT     MQTT
	HTTP     HTTP
	Log      Log
	// SessionExpiry is how long the broker keeps what devices say while this process is away.
	SessionExpiry time.Duration
}

// Database is the one PostgreSQL database.
type Database struct {
	// URL with its password, postgres://…; several hosts are allowed.
	URL Secret
}

// MQTT is the broker.
type MQTT struct {
	URL          string // mqtt:// or mqtts://, no user in it
	Username     string
	PasswordFile string
	Password     Secret // read from PasswordFile
	Prefix       string // of all topics
}

// HTTP is the interface for people and programs.
type HTTP struct {
	// Listen is host:port; the host must be loopback until users and roles exist. Port 0 takes a free one, which
	// only the log tells.
	Listen string
}

// Log of the process.
type Log struct {
	Format string // auto (text on a terminal, else json), text or json
	Level  slog.Level
}

// Error lists what is wrong with a configuration.
type Error struct {
	Path     string // of the file; empty: environment only
	Problems []message.Problem
}

func (e *Error) Error() string {
	s := "configuration"
	if e.Path != "" {
		s += " " + e.Path
	}
	for _, p := range e.Problems {
		s += "\n  " + line(p) + p.Detail
	}
	return s
}

// setting is one value with the places it may come from: the environment wins over the file, the file over
// the default.
type setting struct {
	section, key string
	env          string
	preset       string
}

func (s setting) path() string {
	if s.section == "" {
		return s.key
	}
	return s.section + "." + s.key
}

var (
	databaseURL    = setting{"database", "url", "SUREHAND_DATABASE_URL", ""}
	mqttURL        = setting{"mqtt", "url", "SUREHAND_MQTT_URL", "mqtt://127.0.0.1:1883"}
	mqttUsername   = setting{"mqtt", "username", "SUREHAND_MQTT_USERNAME", ""}
	mqttPassword   = setting{"mqtt", "passwordFile", "SUREHAND_MQTT_PASSWORD_FILE", ""}
	mqttPrefix     = setting{"mqtt", "prefix", "SUREHAND_MQTT_PREFIX", "surehand/v1"}
	httpListen     = setting{"http", "listen", "SUREHAND_HTTP_LISTEN", "127.0.0.1:8750"}
	logFormat      = setting{"log", "format", "SUREHAND_LOG_FORMAT", "auto"}
	logLevel       = setting{"log", "level", "SUREHAND_LOG_LEVEL", "info"}
	sessionExpires = setting{"", "sessionExpiry", "SUREHAND_SESSION_EXPIRY", "24h"}
)

// settings lists them all; the file's known keys follow from it.
func settings() []setting {
	return []setting{databaseURL, mqttURL, mqttUsername, mqttPassword, mqttPrefix, httpListen, logFormat, logLevel, sessionExpires}
}
