package plant

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/term"
)

func TestWhatIsPutOnAPart(t *testing.T) {
	for _, c := range []struct{ name, template, code, want string }{
		{"by default its own name", "", "", "WO-1.3"},
		{"all that is known of it", "{order}/{job} {code}!", "HS-7", "WO-1/WO-1.3 HS-7!"},
		{"the same word, twice", "{job}{job}", "", "WO-1.3WO-1.3"},
		{"a fixed text", "OK", "", "OK"},
		{"a code that was never read", "X {code}", "", ""},
		{"what stands in a code is no template", "{code}", "{job}", "{job}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := &Job{ID: "WO-1.3", OrderID: "WO-1", Context: term.JobContext{Code: c.code}}
			require.Equal(t, c.want, MarkText(c.template, j))
		})
	}
}

func TestWhatCanBeMarked(t *testing.T) {
	for text, why := range map[string]string{
		"A.1": "", "~ !": "", strings.Repeat("x", MaxMarkText): "",
		strings.Repeat("x", MaxMarkText+1): "201 bytes", "": "nothing to mark", "  ": "nothing to mark", "A\nVOID 9": "printable ASCII", "A\r": "printable ASCII",
		"\t": "nothing to mark", "A\x00": "printable ASCII", "A\x7f": "printable ASCII", "Ø10": "printable ASCII", "A\xff": "printable ASCII", " A": "a space", "A ": "a space",
	} {
		if why == "" {
			require.Empty(t, Markable(text), "%q", text)
		} else {
			require.Contains(t, Markable(text), why, "%q", text)
		}
	}
}

func TestTemplatesOfMarks(t *testing.T) {
	for _, c := range []struct {
		template string
		scanned  bool
		why      string
	}{
		{"", false, ""},
		{"{job}", false, ""},
		{"{order} {code}", true, ""},
		{"{job} {job}", false, ""},
		{"{code}", false, "no scan stands before"},
		{"{part}", false, "other braces"},
		{"{job", false, "other braces"},
		{"{Job}", false, "other braces"},
		{"{job} {job} {job}", false, "bytes"}, // with the longest name that an order may have
		{"Größe {job}", false, "printable ASCII"},
		{" {job}", false, "a space"},
		{"   ", false, "nothing to mark"},
	} {
		why := MarkTemplate(c.template, c.scanned)
		if c.why == "" {
			require.Empty(t, why, "%q", c.template)
		} else {
			require.Contains(t, why, c.why, "%q", c.template)
		}
	}
}
