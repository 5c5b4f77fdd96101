package mqttrpc

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// A sample time outside these is no time: a clock that was never set, or seconds where ms are meant.
var (
	earliestSample = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	latestSample   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// fields reads an object of scalars and sorts it by key.
func (s *scanner) fields(depth int, name string) ([]message.Field, error) {
	if s.next() != '{' {
		return nil, s.wrongType(depth, name, "an object")
	}
	fields := make([]message.Field, 0, 8)
	err := s.object(maxValues, func(key string) error {
		if !identifies(key) {
			return reject("bad_key", "a key is empty or has control characters")
		}
		v, err := s.value(depth+1, key)
		if errors.Is(err, errNull) {
			return reject("wrong_type", "%q is null: leave out what has no value", key)
		}
		fields = append(fields, message.Field{Key: key, Value: v})
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(fields, func(a, b message.Field) int { return strings.Compare(a.Key, b.Key) })
	for i := 1; i < len(fields); i++ {
		if fields[i].Key == fields[i-1].Key {
			return nil, reject("duplicate_key", "%q comes twice", fields[i].Key)
		}
	}
	return fields, nil
}

// statedTime reads RFC 3339 text, or milliseconds since 1970. A time that no clock would show is zero.
func (s *scanner) statedTime(depth int, key string) (time.Time, error) {
	at, err := s.anyTime(depth, key)
	if err != nil || at.Before(earliestSample) || !at.Before(latestSample) {
		return time.Time{}, err
	}
	return plant.Micros(at), nil
}

// sampleTime is the time of a reading, which orders it: one that no clock would show is rejected.
func (s *scanner) sampleTime(depth int) (time.Time, error) {
	at, err := s.anyTime(depth, "ts")
	if err != nil {
		return time.Time{}, err
	}
	if at.Before(earliestSample) || !at.Before(latestSample) {
		return time.Time{}, reject("bad_time", "ts says %s: is it seconds instead of milliseconds, or a clock that was never set?",
			at.UTC().Format(time.RFC3339))
	}
	return plant.Micros(at), nil
}

func (s *scanner) anyTime(depth int, key string) (time.Time, error) {
	switch c := s.next(); {
	case c == '"':
		text, err := s.text(maxIDBytes)
		if err != nil {
			return time.Time{}, err
		}
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return time.Time{}, reject("bad_time", "%q: %q is not RFC 3339, such as 2026-01-31T08:00:00.5Z", key, text)
		}
		return at, nil
	case c == '{', c == '[', c == 't', c == 'f', c == 'n':
		return time.Time{}, s.wrongType(depth, key, "RFC 3339 text or milliseconds")
	}
	n, err := s.number()
	if err != nil {
		return time.Time{}, err
	}
	if ms, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	ms, err := strconv.ParseFloat(string(n), 64)
	if err != nil || ms < -1e15 || ms > 1e15 {
		return time.Time{}, reject("bad_time", "%q: %s milliseconds are no time", key, n)
	}
	return time.UnixMicro(int64(ms * 1000)), nil
}

// integer reads a whole number from 0 to limit.
func (s *scanner) integer(depth int, key, reason string, limit int64) (int64, error) {
	if c := s.next(); c != '-' && (c < '0' || c > '9') && c != 'N' && c != 'I' {
		return 0, s.wrongType(depth, key, "a number")
	}
	n, err := s.number()
	if err != nil {
		return 0, err
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil || i < 0 || i > limit {
		return 0, reject(reason, "%q must be a whole number from 0 to %d, not %s", key, limit, n)
	}
	return i, nil
}

func (s *scanner) sequence(depth int) (int64, error) {
	return s.integer(depth, "seq", "bad_seq", maxSeq)
}

func (s *scanner) attempt() (int, error) {
	n, err := s.integer(2, "attempt", "bad_attempt", 1<<31-1)
	return int(n), err
}

func (s *scanner) boolean(depth int, key string) (bool, error) {
	switch s.next() {
	case 't':
		return true, s.literal("true")
	case 'f':
		return false, s.literal("false")
	}
	return false, s.wrongType(depth, key, "true or false")
}

func (s *scanner) string(depth int, key string, limit int) (string, error) {
	if s.next() != '"' {
		return "", s.wrongType(depth, key, "text")
	}
	return s.text(limit)
}

// identifier reads an id that we only compare: printable, bounded. Empty text is as good as none.
func (s *scanner) identifier(depth int, key string) (string, error) {
	id, err := s.string(depth, key, maxIDBytes)
	if err == nil && id != "" && !identifies(id) {
		err = reject("bad_id", "%q has control characters", key)
	}
	return id, err
}

// identifies tells whether s can name something: not empty, no control characters, valid UTF-8.
func identifies(s string) bool {
	return s != "" && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 })
}

func (s *scanner) word(key string, allowed []string) (string, error) {
	w, err := s.string(2, key, maxIDBytes)
	if err == nil && !slices.Contains(allowed, w) {
		err = reject("bad_word", "%q is %q, not one of %s", key, w, strings.Join(allowed, ", "))
	}
	return w, err
}

// remark reads a text for people; what is too long is cut.
func (s *scanner) remark(key string) (string, error) {
	t, err := s.string(2, key, MaxPayloadBytes)
	if err != nil || len(t) <= maxMessageRunes {
		return t, err
	}
	runes := 0
	for at := range t {
		if runes == maxMessageRunes {
			return strings.Clone(t[:at]), nil
		}
		runes++
	}
	return t, nil
}

func (s *scanner) capabilities() ([]string, error) {
	if s.next() != '[' {
		return nil, s.wrongType(2, "capabilities", "an array of texts")
	}
	var all []string
	err := s.array(func() error {
		if len(all) == maxCapabilities {
			return reject("too_many", "more than %d capabilities", maxCapabilities)
		}
		c, err := s.identifier(3, "capabilities")
		all = append(all, c)
		return err
	})
	return all, err
}

// canonical is the reading as JSON with sorted keys and without what it does not say.
func canonical(r message.Reading) string {
	b := make([]byte, 0, 64+32*len(r.Fields))
	b = append(b, '{')
	if r.BootID != "" {
		b = append(b, `"bootId":`...)
		b = append(appendText(b, r.BootID), ',')
	}
	if r.Seq >= 0 {
		b = append(b, `"seq":`...)
		b = append(strconv.AppendInt(b, r.Seq, 10), ',')
	}
	if !r.At.IsZero() {
		b = append(b, `"ts":"`...)
		b = append(r.At.AppendFormat(b, time.RFC3339Nano), `",`...)
	}
	b = append(b, `"values":{`...)
	for i, f := range r.Fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, f.Key), ':')
		if t, ok := f.Value.AsText(); ok {
			b = appendText(b, t)
		} else {
			b = append(b, f.Value.String()...)
		}
	}
	return string(append(b, "}}"...))
}

// appendText appends a text as term.Value writes it.
func appendText(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < 0x20, c > 0x7e, c == '"', c == '\\', c == '<', c == '>', c == '&':
			return append(b, term.Text(s).String()...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
