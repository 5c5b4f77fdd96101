package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"surehand/internal/lab"
)

// labAddress is where a running demo switches its faults.
type labAddress struct {
	Lab string `help:"Address of the running demo." default:"127.0.0.1:8751" env:"SUREHAND_LAB_LISTEN"`
}

func (a labAddress) do(method, path string, body []byte) ([]byte, error) {
	client := &http.Client{Timeout: 10 * time.Second}
	r, err := http.NewRequest(method, "http://"+a.Lab+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%w; does the demo run (make run)?", err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err == nil && response.StatusCode != http.StatusOK {
		var problem struct{ Detail string }
		_ = json.Unmarshal(data, &problem)
		err = errors.New(problem.Detail)
	}
	return data, err
}

type faultCommand struct {
	labAddress
	ID    string `arg:"" optional:"" help:"The fault; none: list them."`
	State string `arg:"" optional:"" enum:"on,off" default:"on" help:"on or off."`
}

func (f *faultCommand) Run() error {
	if f.ID == "" {
		return f.list()
	}
	body, err := json.Marshal(map[string]bool{"on": f.State == "on"})
	if err != nil {
		return err
	}
	_, err = f.do(http.MethodPost, "/faults/"+url.PathEscape(f.ID), body)
	return err
}

func (f *faultCommand) list() error {
	data, err := f.do(http.MethodGet, "/faults", nil)
	if err != nil {
		return err
	}
	var all []lab.Fault
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	return listFaults(os.Stdout, all)
}

// listFaults writes them in their groups.
func listFaults(out io.Writer, all []lab.Fault) error {
	group := ""
	for _, one := range all {
		if one.Group != group {
			group = one.Group
			if _, err := fmt.Fprintln(out, group); err != nil {
				return err
			}
		}
		state := ""
		switch {
		case one.On:
			state = "  ON"
		case one.Kind == lab.Once:
			state = "  (once)"
		}
		if _, err := fmt.Fprintf(out, "  %-22s %s%s\n", one.ID, one.Label, state); err != nil {
			return err
		}
	}
	return nil
}

type worldCommand struct{ labAddress }

func (w *worldCommand) Run() error {
	data, err := w.do(http.MethodGet, "/world", nil)
	_, _ = os.Stdout.Write(data)
	return err
}
