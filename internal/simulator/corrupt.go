package simulator

import (
	"bytes"
	"strings"
)

// Sizes of what must be refused: far over the contract's 64 KiB and depth 16, and small enough for a broker to carry.
const (
	oversizeBytes = 1 << 20
	deepLevels    = 2000
)

// corrupt decides whether a payload leaves the device broken, and how. At most one way a message.
func (d *Device) corrupt(f Faults, payload []byte) (broken []byte, fault string) {
	// All streams are drawn from before one is chosen, or the first fault would shift the others.
	hits := []struct {
		name string
		hit  bool
	}{
		{"malformed_json", d.dice.roll("malformed_json", f.MalformedJSON)},
		{"oversize", d.dice.roll("oversize", f.Oversize)},
		{"nul_bytes", d.dice.roll("nul_bytes", f.NULBytes)},
		{"nan", d.dice.roll("nan", f.NaN)},
		{"deep_nesting", d.dice.roll("deep_nesting", f.DeepNesting)},
		{"wrong_type", d.dice.roll("wrong_type", f.WrongType)},
	}
	for _, h := range hits {
		if h.hit {
			return d.breakPayload(h.name, payload), h.name
		}
	}
	return payload, ""
}

func (d *Device) breakPayload(fault string, payload []byte) []byte {
	switch fault {
	case "malformed_json":
		return append([]byte(nil), payload[:len(payload)/2]...)
	case "oversize":
		return inject(payload, `"padding":"`+strings.Repeat("x", oversizeBytes)+`",`)
	case "nul_bytes":
		// An escaped NUL is valid JSON that PostgreSQL's text and jsonb refuse; a raw one is not even valid JSON.
		if d.dice.roll("nul_bytes_raw", 0.5) {
			return inject(payload, "\"nul\":\"a\x00b\",")
		}
		return inject(payload, `"nul":"a\u0000b",`)
	case "nan":
		return inject(payload, `"notANumber":NaN,`)
	case "deep_nesting":
		return inject(payload, `"deep":`+strings.Repeat("[", deepLevels)+strings.Repeat("]", deepLevels)+`,`)
	default: // wrong_type
		for _, field := range []string{`"values":`, `"reportedState":`, `"commandId":`} {
			if i := bytes.Index(payload, []byte(field)); i >= 0 {
				return splice(payload, i+len(field), `["neither an object nor a text"],"was":`)
			}
		}
		return []byte(`"a text where an object is wanted"`)
	}
}

// inject puts members into the object that holds the values, or else into the outermost one.
func inject(payload []byte, members string) []byte {
	for _, opening := range []string{`"values":{`, `"reportedState":{`, `{`} {
		if i := bytes.Index(payload, []byte(opening)); i >= 0 {
			return splice(payload, i+len(opening), members)
		}
	}
	return append([]byte(members), payload...)
}

func splice(payload []byte, at int, text string) []byte {
	out := make([]byte, 0, len(payload)+len(text))
	out = append(out, payload[:at]...)
	out = append(out, text...)
	return append(out, payload[at:]...)
}
