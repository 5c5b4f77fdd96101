package workers_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"surehand/internal/workers"
)

// What is told of a broken connection must not change with each new connection.
func TestPlain(t *testing.T) {
	at := func(port int) *net.TCPAddr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: port} }
	op := func(what string, port int, cause error) *net.OpError {
		return &net.OpError{Op: what, Net: "tcp", Source: at(port), Addr: at(502), Err: cause}
	}
	reset := os.NewSyscallError("read", syscall.ECONNRESET)
	for name, c := range map[string]struct {
		err  func(port int) error
		want string
	}{
		"a time-out": {func(p int) error { return op("read", p, os.ErrDeadlineExceeded) }, "read 10.0.0.5:502: i/o timeout"},
		"a reset": {func(p int) error { return fmt.Errorf("read the status block: %w", op("read", p, reset)) },
			"read the status block: read 10.0.0.5:502: connection reset by peer"},
		"a refused dial": {func(int) error {
			return &net.OpError{Op: "dial", Net: "tcp", Addr: at(502), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}, "dial 10.0.0.5:502: connection refused"},
		"several": {func(p int) error { return errors.Join(op("read", p, reset), io.EOF, op("write", p+1, os.ErrClosed)) },
			"read 10.0.0.5:502: connection reset by peer\nEOF\nwrite 10.0.0.5:502: file already closed"},
		"a name without an address": {func(int) error {
			return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "plc", Server: "127.0.0.53:53", IsNotFound: true}}
		}, "dial: look up plc: no such host"},
		"a silent resolver": {func(p int) error {
			words := fmt.Sprintf("read udp 10.0.0.5:%d->10.0.0.1:53: i/o timeout", p)
			return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: words, Name: "plc", Server: "10.0.0.1:53", IsTimeout: true}}
		}, "dial: look up plc: no answer in time"},
		"one inside another": {func(p int) error {
			return &net.OpError{Op: "dial", Net: "tcp", Addr: at(502), Err: op("read", p, reset)}
		},
			"dial 10.0.0.5:502: read 10.0.0.5:502: connection reset by peer"},
		"no network error": {func(int) error { return io.ErrUnexpectedEOF }, "unexpected EOF"},
	} {
		for _, port := range []int{41234, 50001} {
			cause := c.err(port)
			err := workers.Plain(cause)
			if err.Error() != c.want || !errors.Is(err, cause) {
				t.Errorf("%s: %q, want %q", name, err, c.want)
			}
		}
	}
	if workers.Plain(nil) != nil {
		t.Error("nothing became an error")
	}
}

// The same on real sockets: two connections, two ports, one text.
func TestPlainOnTheWire(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_ = c.(*net.TCPConn).SetLinger(0)
			_, _ = c.Read(make([]byte, 1))
			_ = c.Close() // resets
		}
	}()
	said := map[string]bool{}
	for range 3 {
		c, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte{1})
		_, err = c.Read(make([]byte, 1))
		_ = c.Close()
		if err == nil || !strings.Contains(err.Error(), "->") {
			t.Fatalf("the connection ended with %v", err)
		}
		said[workers.Plain(err).Error()] = true
	}
	if want := "read " + listener.Addr().String() + ": connection reset by peer"; len(said) != 1 || !said[want] {
		t.Errorf("said %v, want %q", said, want)
	}
}
