package plant

import (
	"fmt"
	"strings"

	"surehand/internal/term"
)

const (
	// MaxMarkText bounds what is put on a part: with the word, the number and the line feed it fits into the 256 bytes
	// of a request (docs/drivers.md).
	MaxMarkText = 200
	// defaultMark is the template of a mark step that names none.
	defaultMark = "{job}"
	codeInMark  = "{code}"
	longestName = 64 // of term.ValidName
)

// MarkText is what a mark step puts on a part. It is empty when the part has no code and its template wants one: half a
// mark cannot be taken back, so such a part is not marked at all.
func MarkText(template string, j *Job) string {
	if template == "" {
		template = defaultMark
	}
	if j.Context.Code == "" && strings.Contains(template, codeInMark) {
		return ""
	}
	return strings.NewReplacer("{job}", string(j.ID), "{order}", string(j.OrderID), codeInMark, j.Context.Code).Replace(template)
}

// Markable says why a text cannot be put on a part; empty: it can.
func Markable(text string) string {
	plain := !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	switch {
	case strings.TrimSpace(text) == "":
		return "there is nothing to mark; a part whose code was never read has no {code}"
	case len(text) > MaxMarkText:
		return fmt.Sprintf("the text has %d bytes; at most %d can be marked", len(text), MaxMarkText)
	case !plain:
		return fmt.Sprintf("the text %q is not printable ASCII in one line", text)
	case strings.TrimSpace(text) != text:
		return fmt.Sprintf("the text %q begins or ends with a space", text)
	}
	return ""
}

// MarkTemplate says what is wrong with the text of a mark step; empty: nothing. scanned: a scan stands before it in its
// route, so that there is a code.
func MarkTemplate(template string, scanned bool) string {
	if template == "" {
		return ""
	}
	rest := strings.NewReplacer("{job}", "", "{order}", "", codeInMark, "").Replace(template)
	switch {
	case strings.ContainsAny(rest, "{}"):
		return "{job}, {order} and {code} are replaced; other braces mean nothing"
	case strings.Contains(template, codeInMark) && !scanned:
		return "{code} is the code that was read last; no scan stands before this step"
	}
	// The longest names that there are; a code has a length of its own, and is looked at when the mark is handed out.
	order := term.OrderID(strings.Repeat("x", longestName))
	return Markable(MarkText(template, &Job{ID: term.NewJobID(order, MaxParts), OrderID: order, Context: term.JobContext{Code: "x"}}))
}
