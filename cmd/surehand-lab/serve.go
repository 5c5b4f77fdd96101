package main

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"surehand/internal/config"
	"surehand/internal/observe"
	"surehand/internal/service"
)

// serveCommand is Surehand as the demo runs it: the product, with the plant's faults mounted below /lab, so that the page
// can switch them.
type serveCommand struct {
	Lab     *url.URL `help:"Where the demo switches its faults." required:""`
	Verbose bool     `help:"Log every stage, not only warnings."`
}

func (s *serveCommand) Run() error {
	log := observe.NewLogger(os.Stderr, (&demoCommand{Verbose: s.Verbose}).level())
	conf, err := config.Load("", os.LookupEnv)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	running, err := service.Start(context.Background(), service.Options{Config: conf, Log: log, Version: "demo",
		Mount: map[string]http.Handler{"/lab": faults(s.Lab)}})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- running.Wait() }()
	select {
	case <-ctx.Done():
		running.Stop(false)
		return <-ended
	case err := <-ended:
		return err
	}
}

// faults hands requests on to the demo's plant, a process of its own.
func faults(at *url.URL) http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }}
}
