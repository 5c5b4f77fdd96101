package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// stopWithin is how long requests may take to end when the process stops; what is left is cut.
const stopWithin = 2 * time.Second

// Serve answers on a listener until the context ends, then ends the streams and the waits of requests, lets
// what is under way finish, and returns within about two seconds whatever the clients do.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, hub *Hub, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	requests, endRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer endRequests()
	server := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 5 * time.Second,
		// A body has its own deadline (decode.go), and so has each frame of a stream (hub_r3labs.go): a read
		// deadline on the whole request would end streams and waits as if the client had gone.
		WriteTimeout:   maxWait + 30*time.Second,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug), // TLS and framing faults of clients
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		hub.Close()
		return err
	case <-ctx.Done():
	}
	hub.Close()
	endRequests()
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	err := server.Shutdown(within)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("clients did not let go in time and were cut")
		err = server.Close()
	}
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
