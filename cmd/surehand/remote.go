package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"surehand/api"
	"surehand/internal/config"
)

// Commands that speak to the running process over its own HTTP interface: the loop is the only writer.

type stopCommand struct {
	Drain bool `help:"Send nothing new and wait until what is under way has ended or is uncertain."`
}

func (s *stopCommand) Run(c *commands) error {
	if _, err := c.send("/system/stop", map[string]bool{"drain": s.Drain}); err != nil {
		return err
	}
	return c.say("Asked to stop. The log says when it has.\n")
}

type importCommand struct {
	File string `arg:"" help:"Device or plant file (YAML); its keys at the top say which." type:"existingfile"`
}

func (i *importCommand) Run(c *commands) error {
	data, err := os.ReadFile(i.File)
	if err != nil {
		return err
	}
	path := "/configuration/import"
	if config.IsPlant(data) {
		path = "/plant"
	}
	answer, err := c.post(path, "application/yaml", data)
	if err != nil {
		return fmt.Errorf("%s: %w", i.File, err)
	}
	return c.say("Imported: %d changes.\n", answer.Changed)
}

// answer is what the interface says to a request that changes something: its outcome, or a problem document.
type answer struct {
	InProgress bool              `json:"inProgress"`
	Changed    int               `json:"changed"`
	ID         string            `json:"id"`
	State      string            `json:"state"`
	Detail     string            `json:"detail"`
	Title      string            `json:"title"`
	Current    *api.ManualAction `json:"current"` // a question that changed before it was answered
	Problems   []struct {
		Pointer string `json:"pointer"`
		Line    int    `json:"line"`
		Detail  string `json:"detail"`
	} `json:"problems"`
}

// err is a problem document in words.
func (a answer) err() error {
	text := a.Title + ": " + a.Detail
	for _, p := range a.Problems {
		text += "\n  "
		if p.Line > 0 {
			text += fmt.Sprintf("line %d: ", p.Line)
		}
		text += p.Pointer + " " + p.Detail
	}
	return errors.New(text)
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
