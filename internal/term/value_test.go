package term_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/term"
)

func TestValuesSurviveTheirCanonicalForm(t *testing.T) {
	for canonical, v := range map[string]term.Value{
		"null": {}, "true": term.Bool(true), "false": term.Bool(false), "0": term.Int(0), "-9223372036854775808": term.Int(math.MinInt64),
		"9223372036854775807": term.Int(math.MaxInt64), "0.0": term.Float(0), "21.5": term.Float(21.5), "21.0": term.Float(21),
		"1e+300": term.Float(1e300), "5e-324": term.Float(5e-324), `"auto"`: term.Text("auto"), `"Nhà kính 温室 \n"`: term.Text("Nhà kính 温室 \n"),
	} {
		require.Equal(t, canonical, v.String())
		back, err := term.ParseValue(canonical)
		require.NoError(t, err)
		require.Equal(t, v, back)
		b, err := json.Marshal(v)
		require.NoError(t, err)
		var read term.Value
		require.NoError(t, json.Unmarshal(b, &read))
		require.Equal(t, v, read)
	}
	require.Equal(t, term.Float(0), term.Float(math.Copysign(0, -1)))
}

func TestWhatIsNoValue(t *testing.T) {
	for _, s := range []string{"", "{}", "[1]", "NaN", "Infinity", "1e999", "01", "tru", `"a`, "\"a\\u0000\"", "1 2"} {
		_, err := term.ParseValue(s)
		require.Error(t, err, s)
	}
}

func TestConversions(t *testing.T) {
	for _, c := range []struct {
		v    term.Value
		to   term.ValueType
		want term.Value
		ok   bool
	}{
		{term.Int(3), term.TypeFloat, term.Float(3), true}, {term.Float(3), term.TypeInt, term.Int(3), true},
		{term.Float(3.5), term.TypeInt, term.Value{}, false}, {term.Bool(true), term.TypeInt, term.Value{}, false},
		{term.Text("1"), term.TypeInt, term.Value{}, false}, {term.Int(1), term.TypeBool, term.Value{}, false},
		{term.Text("a"), term.TypeEnum, term.Text("a"), true}, {term.Value{}, term.TypeText, term.Value{}, false},
	} {
		got, err := c.v.As(c.to)
		require.Equal(t, c.ok, err == nil, "%s as %s", c.v, c.to)
		require.Equal(t, c.want, got)
	}
}

func TestNamesAndSerials(t *testing.T) {
	for s, ok := range map[string]bool{"fan-1": true, "a": true, "": false, "a/b": false, "a+": false, "#": false, "ä": false, "a b": false, "a\x00": false,
		string(make([]byte, 65)): false, "-a": false, ".a": false} {
		require.Equal(t, ok, term.ValidName(s), s)
	}
	for s, ok := range map[string]bool{"GH_01-a": true, "a.b": false, "+": false, "$SYS": false, "": false} {
		require.Equal(t, ok, term.ValidSerial(s), s)
	}
}
