package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"surehand/api"
	"surehand/internal/config"
	"surehand/internal/message"
)

// Commands that speak to the running process over its own HTTP interface: the loop is the only writer.

type importCommand struct {
	File string `arg:"" help:"Device or plant file (YAML); its keys at the top say which." type:"existingfile"`
}

func (i *importCommand) Run(c *commands) error {
	data, err := os.ReadFile(i.File)
	if err != nil {
		return err
	}
	kind, problem := config.KindOf(data)
	if problem != nil {
		return faults(i.File, []message.Problem{*problem})
	}
	path := "/configuration/import"
	if kind == config.PlantFile {
		path = "/plant"
	}
	answer, err := c.post(path, "application/yaml", data)
	if err != nil {
		return fmt.Errorf("%s: %w", i.File, err)
	}
	return c.say("Imported: %s.\n", count(answer.Changed, "change"))
}

// answer is what the interface says to a request that changes something: its outcome, or a problem document.
type answer struct {
	InProgress bool              `json:"inProgress"`
	Changed    int               `json:"changed"`
	ID         string            `json:"id"`
	State      string            `json:"state"`
	Code       string            `json:"code"`
	Detail     string            `json:"detail"`
	Title      string            `json:"title"`
	Current    *api.ManualAction `json:"current"` // a question that changed before it was answered
	Problems   []message.Problem `json:"problems"`
}

// refusal is a problem document in words; its code tells what kind of no it is.
type refusal struct{ code, text string }

func (r *refusal) Error() string { return r.text }

// Codes of the interface and of the loop that a command has more to say about.
const (
	codeNoSuchThing   = "not_found"
	codeNotInRecovery = "not_in_recovery"
)

// err is a problem document in words. One fault of what was typed says all; what comes with several is counted here.
func (a answer) err() error {
	text := cmp.Or(a.Detail, a.Title)
	switch {
	case len(a.Problems) == 1:
		text = faultText(a.Problems[0])
	case len(a.Problems) > 1:
		for _, p := range a.Problems {
			text += "\n  " + faultText(p)
		}
	}
	return &refusal{code: a.Code, text: text}
}

// faultText is one fault in one line; a pointer is said as a path.
func faultText(p message.Problem) string {
	text := p.Detail
	if at := strings.TrimPrefix(p.Pointer, "/"); at != "" {
		text = at + ": " + text
	}
	if p.Line > 0 {
		text = fmt.Sprintf("line %d: %s", p.Line, text)
	}
	return text
}

// named says which thing there is none of, where the interface only knows that there is nothing at the address.
func named(err error, what, id string) error {
	if is(err, codeNoSuchThing) {
		return &refusal{code: codeNoSuchThing, text: fmt.Sprintf("There is no %s %s.", what, id)}
	}
	return err
}

// is tells whether an error is a refusal of this code.
func is(err error, code string) bool {
	var r *refusal
	return errors.As(err, &r) && r.code == code
}

// reasonFor refuses to go on without a reason, with the line to type instead.
func reasonFor(reason, why string, command ...string) error {
	if strings.TrimSpace(reason) != "" {
		return nil
	}
	return fmt.Errorf("a reason is missing: surehand %s --reason %q", strings.Join(command, " "), why)
}

// count is a number of things in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// maxAnswerBytes is more than any answer of the interface has.
const maxAnswerBytes = 8 << 20

// send posts a JSON body to a path below the API's root.
func (c *commands) send(path string, body any) (answer, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	return c.post(path, "application/json", data)
}

func (c *commands) post(path, contentType string, body []byte) (a answer, err error) {
	status, data, err := c.ask(http.MethodPost, path, contentType, body)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("%s: %w", http.StatusText(status), err)
	}
	switch {
	case status == http.StatusAccepted && a.InProgress:
		return a, errors.New("it was taken, but is not decided yet; look at /api/v1/log")
	case status >= http.StatusMultipleChoices:
		return a, a.err()
	}
	return a, nil
}

// get reads a path below the API's root, and gives the bytes too.
func (c *commands) get(path string, into any) ([]byte, error) {
	status, data, err := c.ask(http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		var a answer
		if err := json.Unmarshal(data, &a); err != nil {
			return nil, fmt.Errorf("%s: %w", http.StatusText(status), err)
		}
		return nil, a.err()
	}
	return data, json.Unmarshal(data, into)
}

// all reads every page of a list. The path has a query already.
func all[T any](c *commands, path string) ([]T, error) {
	var items []T
	for cursor := ""; ; {
		var page api.List[T]
		if _, err := c.get(path+"&cursor="+url.QueryEscape(cursor), &page); err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if cursor = page.Next; cursor == "" {
			return items, nil
		}
	}
}

// sayList prints a whole list as the interface says it page by page.
func sayList[T any](c *commands, items []T) error {
	if items == nil {
		items = []T{}
	}
	data, err := json.Marshal(api.List[T]{Items: items})
	if err != nil {
		return err
	}
	return c.say("%s\n", data)
}

// shortLength is how much of an id is shown: its end, since ids begin with the time.
const shortLength = 8

func short[T ~string](id T) string { return string(id)[max(0, len(id)-shortLength):] }

// one finds a thing of a list by its id, or by the end or beginning of it if that is of one only.
func one[T any](items []T, what, id string, idOf func(T) string) (none T, err error) {
	var found []T
	for _, item := range items {
		if text := idOf(item); strings.HasSuffix(text, id) || strings.HasPrefix(text, id) {
			found = append(found, item)
		}
	}
	switch len(found) {
	case 0:
		return none, fmt.Errorf("no open %s has the id %s", what, id)
	case 1:
		return found[0], nil
	}
	return none, fmt.Errorf("%d open %ss have an id with %s; give more of it", len(found), what, id)
}

func (c *commands) ask(method, path, contentType string, body []byte) (status int, data []byte, err error) {
	conf, err := config.LoadClient(c.Config, os.LookupEnv)
	if err != nil {
		return 0, nil, err
	}
	request, err := http.NewRequest(method, "http://"+conf.HTTP.Listen+api.Root+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", contentType)
		request.Header.Set("Idempotency-Key", rand.Text())
		request.Header.Set("Prefer", "wait=30")
	}
	client := http.Client{Timeout: 45 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("no answer at %s; is 'surehand serve' running with this configuration? %w", conf.HTTP.Listen, err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	data, err = io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	return response.StatusCode, data, err
}

func (c *commands) say(format string, args ...any) error {
	_, err := fmt.Fprintf(c.out, format, args...)
	return err
}
