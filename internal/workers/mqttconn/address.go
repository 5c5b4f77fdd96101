package mqttconn

import (
	"fmt"
	"net"
	"net/url"
)

// Address takes a broker's URL apart.
func Address(raw string) (address string, secure bool, err error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", false, fmt.Errorf("the broker's URL: %w", err)
	}
	port := "1883"
	switch u.Scheme {
	case "mqtt", "tcp":
	case "mqtts", "ssl", "tls":
		secure, port = true, "8883"
	default:
		return "", false, fmt.Errorf("the broker's URL %q must look like mqtt://host:1883 or mqtts://host:8883", u.Redacted())
	}
	if u.Port() != "" {
		port = u.Port()
	}
	if u.Hostname() == "" {
		return "", false, fmt.Errorf("the broker's URL %q names no host", u.Redacted())
	}
	return net.JoinHostPort(u.Hostname(), port), secure, nil
}
