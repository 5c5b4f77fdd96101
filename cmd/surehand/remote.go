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
)

// Commands that speak to the running process over its own HTTP interface: the loop is the only writer.

type stopCommand struct {
	Drain bool `help:"Send nothing new and wait until what is under way has ended or is uncertain."`
}

func (s *stopCommand) Run(c *commands) error {
	_, err := c.post("/api/v1/system/stop", "application/json", []byte(fmt.Sprintf(`{"drain":%t}`, s.Drain)))
	if err == nil {
		fmt.Println("Asked to stop. The log says when it has.")
	}
	return err
}

type importCommand struct {
	Devices string `arg:"" help:"Device file (YAML)." type:"existingfile"`
}

func (i *importCommand) Run(c *commands) error {
	data, err := os.ReadFile(i.Devices)
	if err != nil {
		return err
	}
	answer, err := c.post("/api/v1/configuration/import", "text/yaml", data)
	if err != nil {
		return fmt.Errorf("%s: %w", i.Devices, err)
	}
	fmt.Printf("Imported: %d changes.\n", answer.Changed)
	return nil
}

type answer struct {
	InProgress bool   `json:"inProgress"`
	Changed    int    `json:"changed"`
	Detail     string `json:"detail"`
	Title      string `json:"title"`
	Problems   []struct {
		Pointer string `json:"pointer"`
		Line    int    `json:"line"`
		Detail  string `json:"detail"`
	} `json:"problems"`
}

// maxAnswerBytes is more than any answer of the interface has.
const maxAnswerBytes = 1 << 20

func (c *commands) post(path, contentType string, body []byte) (a answer, err error) {
	conf, _, err := c.load()
	if err != nil {
		return a, err
	}
	url := "http://" + conf.HTTP.Listen + path
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Idempotency-Key", rand.Text())
	request.Header.Set("Prefer", "wait=30")
	client := http.Client{Timeout: 45 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return a, fmt.Errorf("no answer at %s; is 'surehand serve' running with this configuration? %w", conf.HTTP.Listen, err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("%s: %w", response.Status, err)
	}
	if response.StatusCode == http.StatusAccepted && a.InProgress {
		return a, errors.New("it was taken, but is not decided yet; look at /api/v1/log")
	}
	if response.StatusCode >= 300 {
		text := a.Title + ": " + a.Detail
		for _, p := range a.Problems {
			text += "\n  "
			if p.Line > 0 {
				text += fmt.Sprintf("line %d: ", p.Line)
			}
			text += p.Pointer + " " + p.Detail
		}
		return a, errors.New(text)
	}
	return a, nil
}
