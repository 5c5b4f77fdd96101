package term

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ValueType is the declared type of an endpoint's value. Enum is text restricted to allowed values.
type ValueType string

const (
	TypeBool  ValueType = "bool"
	TypeInt   ValueType = "int"
	TypeFloat ValueType = "float"
	TypeEnum  ValueType = "enum"
	TypeText  ValueType = "string"
)

func (ValueType) Values() []string { return []string{"bool", "int", "float", "enum", "string"} }

type valueKind uint8

const (
	kindNone valueKind = iota
	kindBool
	kindInt
	kindFloat
	kindText
)

// MaxTextBytes bounds a text value.
const MaxTextBytes = 1024

// Value is one typed scalar: bool, 64-bit integer, finite 64-bit float or text. It is comparable with
// ==, and its canonical form is a JSON scalar in which a float always carries a '.' or an exponent, so
// that the type survives storage. The zero Value means "no value" (null).
type Value struct {
	kind  valueKind
	num   int64 // bool as 0/1, int
	float float64
	text  string
}

func Bool(b bool) Value {
	v := Value{kind: kindBool}
	if b {
		v.num = 1
	}
	return v
}
func Int(i int64) Value     { return Value{kind: kindInt, num: i} }
func Float(f float64) Value { return Value{kind: kindFloat, float: f + 0} } // -0 becomes 0
func Text(s string) Value   { return Value{kind: kindText, text: s} }

// IsZero tells whether there is no value.
func (v Value) IsZero() bool { return v.kind == kindNone }

// AsBool returns the boolean and whether the value is one.
func (v Value) AsBool() (bool, bool) { return v.num != 0, v.kind == kindBool }

// AsText returns the text and whether the value is one.
func (v Value) AsText() (string, bool) { return v.text, v.kind == kindText }

// AsNumber returns an int or float as float64 and whether the value is a number.
func (v Value) AsNumber() (float64, bool) {
	switch v.kind {
	case kindInt:
		return float64(v.num), true
	case kindFloat:
		return v.float, true
	}
	return 0, false
}

// Compare orders two values of one kind (numbers mix): -1, 0, 1, and false if they cannot be ordered.
// Booleans and texts are ordered only for equality and membership; false < true, texts by bytes.
func (v Value) Compare(o Value) (int, bool) {
	if v.kind == kindInt && o.kind == kindInt {
		return cmpInt(v.num, o.num), true
	}
	if a, ok := v.AsNumber(); ok {
		b, ok := o.AsNumber()
		if !ok {
			return 0, false
		}
		switch {
		case a < b:
			return -1, true
		case a > b:
			return 1, true
		}
		return 0, true
	}
	switch {
	case v.kind == kindBool && o.kind == kindBool:
		return cmpInt(v.num, o.num), true
	case v.kind == kindText && o.kind == kindText:
		return strings.Compare(v.text, o.text), true
	}
	return 0, false
}

func cmpInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Equal tells whether two values are the same; numbers within tolerance (>= 0, in the value's unit).
func (v Value) Equal(o Value, tolerance float64) bool {
	if a, ok := v.AsNumber(); ok {
		b, ok := o.AsNumber()
		return ok && math.Abs(a-b) <= tolerance
	}
	return v == o
}

// String is the canonical JSON scalar.
func (v Value) String() string {
	switch v.kind {
	case kindBool:
		return strconv.FormatBool(v.num != 0)
	case kindInt:
		return strconv.FormatInt(v.num, 10)
	case kindFloat:
		s := strconv.FormatFloat(v.float, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	case kindText:
		b, err := json.Marshal(v.text)
		if err != nil { // a Go string always marshals
			panic(err)
		}
		return string(b)
	}
	return "null"
}

func (v Value) MarshalJSON() ([]byte, error) { return []byte(v.String()), nil }

func (v *Value) UnmarshalJSON(b []byte) error {
	parsed, err := ParseValue(string(b))
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}

var errNotScalar = errors.New("not a JSON scalar (true, false, number, string or null)")

// ParseValue reads a JSON scalar. A number without '.' and exponent that fits 64 bits is an int.
func ParseValue(s string) (Value, error) {
	switch {
	case s == "null":
		return Value{}, nil
	case s == "true", s == "false":
		return Bool(s == "true"), nil
	case s == "":
		return Value{}, errNotScalar
	case s[0] == '"':
		var t string
		if err := json.Unmarshal([]byte(s), &t); err != nil {
			return Value{}, fmt.Errorf("text value: %w", err)
		}
		if len(t) > MaxTextBytes {
			return Value{}, fmt.Errorf("text value has %d bytes; at most %d are allowed", len(t), MaxTextBytes)
		}
		if strings.ContainsRune(t, 0) {
			return Value{}, errors.New("text value has a NUL character")
		}
		return Text(t), nil
	}
	if !json.Valid([]byte(s)) {
		return Value{}, errNotScalar
	}
	if !strings.ContainsAny(s, ".eE") {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return Int(i), nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return Value{}, errNotScalar
	}
	return Float(f), nil
}

// As brings a value that came from a device or a person into the declared type: an int is taken as a
// float, and a float with no fraction as an int; nothing else is converted.
func (v Value) As(t ValueType) (Value, error) {
	switch {
	case t == TypeBool && v.kind == kindBool, t == TypeInt && v.kind == kindInt, t == TypeFloat && v.kind == kindFloat,
		(t == TypeText || t == TypeEnum) && v.kind == kindText:
		return v, nil
	case t == TypeFloat && v.kind == kindInt:
		return Float(float64(v.num)), nil
	case t == TypeInt && v.kind == kindFloat && v.float == math.Trunc(v.float) && math.Abs(v.float) < 1<<53:
		return Int(int64(v.float)), nil
	}
	return Value{}, fmt.Errorf("%s is not a value of type %s", v, t)
}
