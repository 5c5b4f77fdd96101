package workers

import (
	"errors"
	"net"
	"os"
	"strings"
)

// Plain is an error of a connection in words that are the same at every attempt: what was done, to which address, and
// why it failed. The system's own words name our end of the connection too, whose port is another one each time; what
// is told to the loop and has changed is news there, and a row of its log.
func Plain(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, op := range operations(err) {
		text = strings.ReplaceAll(text, op.Error(), operation(op))
	}
	return plain{text, err}
}

// plain keeps what the error is: it can be looked for as before.
type plain struct {
	text string
	err  error
}

func (p plain) Error() string { return p.text }
func (p plain) Unwrap() error { return p.err }

// operations are the outermost network errors in a tree of errors.
func operations(err error) []*net.OpError {
	if op, is := err.(*net.OpError); is {
		return []*net.OpError{op}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return operations(inner)
		}
	case interface{ Unwrap() []error }:
		var all []*net.OpError
		for _, inner := range e.Unwrap() {
			all = append(all, operations(inner)...)
		}
		return all
	}
	return nil
}

func operation(op *net.OpError) string {
	words := op.Op
	if op.Addr != nil {
		words += " " + op.Addr.String()
	}
	return words + ": " + cause(op.Err)
}

func cause(err error) string {
	var lookup *net.DNSError
	var call *os.SyscallError
	var inner *net.OpError
	switch {
	case err == nil:
		return "failed"
	case errors.As(err, &lookup): // its own words name the resolver, and our port there
		switch {
		case lookup.IsNotFound:
			return "look up " + lookup.Name + ": no such host"
		case lookup.IsTimeout:
			return "look up " + lookup.Name + ": no answer in time"
		}
		return "look up " + lookup.Name + ": failed"
	case errors.As(err, &inner):
		return operation(inner)
	case errors.As(err, &call):
		return call.Err.Error()
	}
	return err.Error()
}
