package config

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
)

// Secret is a text that is never printed: not by fmt, not as JSON, not in a log.
// It is held by reference because fmt prints the unexported fields of a struct without asking their methods.
type Secret struct{ text *string }

// NewSecret hides a text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal is the text, for the one who has to send it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Empty tells whether there is none.
func (s Secret) Empty() bool { return s.text == nil }

func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return "(secret)"
}

func (s Secret) GoString() string             { return s.String() }
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is what slog prints, also inside a larger value.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

const maxSecretBytes = 4096

// secretFile reads a secret; the newline that editors leave at its end is not part of it.
func secretFile(path string) (Secret, error) {
	f, err := os.Open(path)
	if err != nil {
		return Secret{}, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecretBytes+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return Secret{}, err
	}
	s := strings.TrimRight(string(b), "\r\n")
	switch {
	case len(b) > maxSecretBytes:
		return Secret{}, fmt.Errorf("%s has more than %d bytes", path, maxSecretBytes)
	case s == "":
		return Secret{}, fmt.Errorf("%s is empty", path)
	case strings.ContainsAny(s, "\x00\r\n"):
		return Secret{}, fmt.Errorf("%s has more than one line", path)
	}
	return NewSecret(s), nil
}
