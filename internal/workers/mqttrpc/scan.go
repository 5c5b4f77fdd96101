package mqttrpc

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"surehand/internal/term"
)

const (
	maxDepth       = 16
	maxMembers     = 64 // of an object other than values: the contract's own and what a firmware adds
	maxKeyBytes    = 128
	maxNumberBytes = 128
)

// fault is why an input was rejected: one word for machines and counters, a detail for people.
type fault struct{ reason, detail string }

func (f *fault) Error() string { return f.reason + ": " + f.detail }

func reject(reason, format string, args ...any) error {
	return &fault{reason, fmt.Sprintf(format, args...)}
}

var errNull = errors.New("null")

// scanner reads JSON strictly and in place: what a general decoder lets pass (a key twice, half a surrogate
// pair, a number out of range) is named here. The data must be valid UTF-8.
type scanner struct {
	data []byte
	at   int
}

func (s *scanner) malformed(want string) error {
	if s.at >= len(s.data) {
		return reject("malformed", "%s is missing at the end", want)
	}
	switch s.data[s.at] {
	case 'N', 'I':
		return reject("not_finite", "NaN and Infinity are no JSON values (byte %d)", s.at)
	case 0:
		return reject("nul", "NUL at byte %d", s.at)
	}
	r, _ := utf8.DecodeRune(s.data[s.at:])
	return reject("malformed", "%q at byte %d where %s should be", r, s.at, want)
}

func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// next skips white space and returns the byte that is there, 0 at the end.
func (s *scanner) next() byte {
	s.space()
	if s.at >= len(s.data) {
		return 0
	}
	return s.data[s.at]
}

// take takes one byte if it is the next one.
func (s *scanner) take(b byte) bool {
	if s.next() != b {
		return false
	}
	s.at++
	return true
}

// end makes sure that nothing follows.
func (s *scanner) end() error {
	s.space()
	if s.at != len(s.data) {
		return s.malformed("the end")
	}
	return nil
}

// object reads an object and calls member after each key; member must read the value. Nothing is said here
// about a key that comes twice.
func (s *scanner) object(limit int, member func(key string) error) error {
	if !s.take('{') {
		return s.malformed("an object")
	}
	if s.take('}') {
		return nil
	}
	for n := 1; ; n++ {
		if n > limit {
			return reject("too_many", "an object has more than %d members", limit)
		}
		if s.next() != '"' {
			return s.malformed("a key")
		}
		key, err := s.text(maxKeyBytes)
		if err != nil {
			return err
		}
		if !s.take(':') {
			return s.malformed("a colon")
		}
		if err := member(key); err != nil {
			return err
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.malformed("a comma or the end of the object")
		}
	}
}

// record reads an object of the contract: a key twice is rejected, and a member that it does not know is
// skipped. Depth is that of the object itself.
func (s *scanner) record(depth int, member func(key string) (known bool, err error)) error {
	var few [8]string
	seen := few[:0]
	return s.object(maxMembers, func(key string) error {
		for _, k := range seen {
			if k == key {
				return reject("duplicate_key", "%q comes twice", key)
			}
		}
		seen = append(seen, key)
		known, err := member(key)
		if err == nil && !known {
			err = s.skip(depth + 1)
		}
		return err
	})
}

// array reads an array and calls element before each element.
func (s *scanner) array(element func() error) error {
	if !s.take('[') {
		return s.malformed("an array")
	}
	if s.take(']') {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if s.take(']') {
			return nil
		}
		if !s.take(',') {
			return s.malformed("a comma or the end of the array")
		}
	}
}

// skip reads any value and drops it. depth is the nesting of that value, were it an object or array.
func (s *scanner) skip(depth int) error {
	c := s.next()
	if (c == '{' || c == '[') && depth > maxDepth {
		return reject("too_deep", "nested deeper than %d", maxDepth)
	}
	switch {
	case c == '{':
		return s.object(len(s.data), func(string) error { return s.skip(depth + 1) })
	case c == '[':
		return s.array(func() error { return s.skip(depth + 1) })
	case c == '"':
		_, err := s.text(len(s.data))
		return err
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	}
	_, err := s.number()
	return err
}

// wrongType reads the value that is there and says that it should be something else.
func (s *scanner) wrongType(depth int, key, want string) error {
	if err := s.skip(depth); err != nil {
		return err
	}
	return reject("wrong_type", "%q must be %s", key, want)
}

func (s *scanner) literal(word string) error {
	s.space()
	if !bytes.HasPrefix(s.data[s.at:], []byte(word)) {
		return s.malformed(word)
	}
	s.at += len(word)
	return nil
}

// number returns the text of a number.
func (s *scanner) number() ([]byte, error) {
	s.space()
	start := s.at
	digits := func() bool {
		from := s.at
		for s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '9' {
			s.at++
		}
		return s.at > from
	}
	if s.at < len(s.data) && s.data[s.at] == '-' {
		s.at++
	}
	zero := s.at < len(s.data) && s.data[s.at] == '0'
	whole := s.at
	if !digits() || zero && s.at > whole+1 {
		if zero {
			s.at = whole
		}
		return nil, s.malformed("a value")
	}
	if s.at < len(s.data) && s.data[s.at] == '.' {
		s.at++
		if !digits() {
			return nil, s.malformed("a digit")
		}
	}
	if s.at < len(s.data) && s.data[s.at]|0x20 == 'e' {
		s.at++
		if s.at < len(s.data) && (s.data[s.at] == '+' || s.data[s.at] == '-') {
			s.at++
		}
		if !digits() {
			return nil, s.malformed("a digit")
		}
	}
	if s.at-start > maxNumberBytes {
		return nil, reject("malformed", "a number has more than %d characters", maxNumberBytes)
	}
	return s.data[start:s.at], nil
}

// value reads a scalar. errNull stands for null; the caller knows the key.
func (s *scanner) value(depth int, key string) (term.Value, error) {
	switch c := s.next(); c {
	case '"':
		t, err := s.text(term.MaxTextBytes)
		return term.Text(t), err
	case 't':
		return term.Bool(true), s.literal("true")
	case 'f':
		return term.Bool(false), s.literal("false")
	case 'n':
		if err := s.literal("null"); err != nil {
			return term.Value{}, err
		}
		return term.Value{}, errNull
	case '{', '[':
		return term.Value{}, s.wrongType(depth, key, "a scalar")
	}
	n, err := s.number()
	if err != nil {
		return term.Value{}, err
	}
	return numberValue(key, n)
}

// numberValue follows term.ParseValue: a number without a fraction or exponent that fits 64 bits is an int.
func numberValue(key string, n []byte) (term.Value, error) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return term.Int(i), nil
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil { // the grammar was checked: it can only be out of range
		return term.Value{}, reject("overflow", "%q: %s is beyond a 64-bit float", key, n)
	}
	return term.Float(f), nil
}

// text reads a string of at most limit bytes.
func (s *scanner) text(limit int) (string, error) {
	s.at++ // the opening quote
	start := s.at
	for s.at < len(s.data) {
		switch c := s.data[s.at]; {
		case c == '"':
			t := s.data[start:s.at]
			s.at++
			return bounded(t, limit)
		case c == '\\':
			return s.escaped(start, limit)
		case c < 0x20:
			return "", s.malformed("a printable character")
		}
		s.at++
	}
	return "", s.malformed("a closing quote")
}

func bounded(t []byte, limit int) (string, error) {
	if len(t) > limit {
		return "", reject("too_long", "a text has %d bytes, at most %d are allowed", len(t), limit)
	}
	return string(t), nil
}

// escaped reads on from the first backslash of a string that began at start.
func (s *scanner) escaped(start, limit int) (string, error) {
	text := bytes.Clone(s.data[start:s.at])
	for s.at < len(s.data) {
		c := s.data[s.at]
		switch {
		case c == '"':
			s.at++
			return bounded(text, limit)
		case c < 0x20:
			return "", s.malformed("a printable character")
		case c != '\\':
			text = append(text, c)
			s.at++
			continue
		}
		s.at++
		if s.at >= len(s.data) {
			return "", s.malformed("an escape")
		}
		switch c := s.data[s.at]; c {
		case '"', '\\', '/':
			text = append(text, c)
		case 'b':
			text = append(text, '\b')
		case 'f':
			text = append(text, '\f')
		case 'n':
			text = append(text, '\n')
		case 'r':
			text = append(text, '\r')
		case 't':
			text = append(text, '\t')
		case 'u':
			r, err := s.escapedRune()
			if err != nil {
				return "", err
			}
			text = utf8.AppendRune(text, r)
			continue
		default:
			return "", s.malformed("an escape")
		}
		s.at++
	}
	return "", s.malformed("a closing quote")
}

// escapedRune reads from the u of \uXXXX, and the second half of a surrogate pair.
func (s *scanner) escapedRune() (rune, error) {
	first, err := s.hex()
	if err != nil {
		return 0, err
	}
	if first == 0 {
		return 0, reject("nul", `a text has \u0000`)
	}
	if !utf16.IsSurrogate(first) {
		return first, nil
	}
	if s.at+1 < len(s.data) && s.data[s.at] == '\\' && s.data[s.at+1] == 'u' {
		s.at++
		second, err := s.hex()
		if err != nil {
			return 0, err
		}
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return r, nil
		}
	}
	return 0, reject("utf8", "half a surrogate pair before byte %d", s.at)
}

func (s *scanner) hex() (rune, error) {
	s.at++ // the u
	if s.at+4 > len(s.data) {
		s.at = len(s.data)
		return 0, s.malformed("four hex digits")
	}
	n, err := strconv.ParseUint(string(s.data[s.at:s.at+4]), 16, 16)
	if err != nil {
		return 0, s.malformed("four hex digits")
	}
	s.at += 4
	return rune(n), nil
}
