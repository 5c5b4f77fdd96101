package opcua

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"surehand/internal/term"
	"surehand/internal/workers/handshake"
)

// Transport is a handshake.Transport of a machine.
type Transport struct{ c term.DriverConfig }

var _ handshake.Transport = Transport{}

// New takes endpoint, namespace, node and times from a configuration.
func New(c term.DriverConfig) Transport { return Transport{c.WithDefaults()} }

// Check wants what the plant file must say, and blocks that the nodes of a machine can hold.
func (t Transport) Check(b handshake.Blocks) error {
	switch {
	case !strings.HasPrefix(t.c.Address, "opc.tcp://"):
		return fmt.Errorf("the address %q must begin with opc.tcp://", t.c.Address)
	case t.c.Namespace == "" || t.c.Node == "":
		return errors.New("namespace and node must say where the machine's nodes are")
	case t.c.WordOrder != "high":
		return errors.New("numbers have their high word first on OPC UA; there is no wordOrder")
	case b.Command != b.GoAt+2:
		return fmt.Errorf("behind go there is one word, done_ack: %d words with go at %d do not fit", b.Command, b.GoAt)
	}
	return nil
}

// Open makes a session and looks up the index of the namespace, which may be another one after a restart.
func (t Transport) Open(ctx context.Context, b handshake.Blocks) (handshake.Conn, error) {
	c, err := dial(ctx, t.c.Address, time.Duration(t.c.Timeout), max(sessionLife, 4*time.Duration(t.c.Poll)))
	if err != nil {
		return nil, err
	}
	namespace, err := c.namespace(t.c.Namespace)
	if err != nil {
		c.close()
		return nil, err
	}
	at := func(name string, words int) variable { return newVariable(namespace, t.id(name), words) }
	command, status := at("command", b.GoAt), at("status", b.Status)
	command.array, status.array, status.grows = true, true, true
	return &conn{client: c, command: []variable{command, at("go", 1), at("done_ack", 1)}, status: []variable{status}}, nil
}

// id is the string id of a node. Where ids are made of quoted names, all of it is quoted.
func (t Transport) id(name string) string {
	if strings.HasSuffix(t.c.Node, `"`) {
		name = `"` + name + `"`
	}
	return t.c.Node + "." + name
}

// conn is a session with the nodes of one machine, in the order of the words of the blocks.
type conn struct {
	*client
	command, status []variable
}

func (c *conn) ReadCommand() ([]uint16, error) { return c.read(c.command) }

func (c *conn) ReadStatus() ([]uint16, error) { return c.read(c.status) }

// Write writes the variables that the words fill; to fill one in part is a mistake of the caller.
func (c *conn) Write(offset int, values []uint16) error {
	var variables []variable
	var words [][]uint16
	at := 0
	for _, v := range c.command {
		if at == offset && len(values) >= v.words {
			variables, words = append(variables, v), append(words, values[:v.words])
			offset, values = offset+v.words, values[v.words:]
		}
		at += v.words
	}
	if len(variables) == 0 || len(values) > 0 {
		return wrongValue{fmt.Sprintf("a node is written as a whole: %d words are left at %d", len(values), offset)}
	}
	return c.write(variables, words)
}

// Usable: the server has answered, if only with what cannot be worked with, or has not answered yet. Any other error has
// lost the session. A heartbeat that stands still may be one that this session alone sees so.
func (c *conn) Usable(err error) bool {
	var wrong wrongValue
	return errors.Is(err, errNoAnswer) || errors.As(err, &wrong)
}

func (c *conn) Close() { c.close() }
