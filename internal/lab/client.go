package lab

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Client speaks to Surehand as any program does.
type Client struct{ Base string } // http://host:port

// errRefused is an answer that says no.
type errRefused struct {
	Status int
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func (e errRefused) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Detail) }

func (c Client) get(ctx context.Context, path string, out any) error {
	return c.do(ctx, http.MethodGet, path, "", "", nil, out)
}

// post sends JSON. The same key has its effect once.
func (c Client) post(ctx context.Context, path, key string, in any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPost, path, key, "application/json", body, nil)
}

// Import tells Surehand a device or plant file.
func (c Client) Import(ctx context.Context, path string, file []byte) error {
	return c.do(ctx, http.MethodPost, path, rand.Text(), "application/yaml", file, nil)
}

func (c Client) do(ctx context.Context, method, path, key, mediaType string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, c.Base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
		r.Header.Set("Idempotency-Key", key)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusBadRequest {
		no := errRefused{}
		_ = json.Unmarshal(data, &no)
		no.Status = response.StatusCode
		if no.Detail == "" {
			no.Detail = string(data[:min(len(data), 200)])
		}
		return no
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

// Ready waits until Surehand decides.
func (c Client) Ready(ctx context.Context) error {
	for {
		err := c.get(ctx, "/readyz", nil)
		if err == nil {
			return nil
		}
		again := time.NewTimer(100 * time.Millisecond)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return errors.Join(ctx.Err(), err)
		}
	}
}
