package opcua

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/gopcua/opcua/id"
	"github.com/gopcua/opcua/ua"

	"surehand/internal/workers"
)

const (
	// openWithin bounds the way to a session; each request on it is bounded by the time-out as well.
	openWithin = 5 * time.Second
	// sessionLife is after which silence the server forgets a session that could not be closed: its sessions are few.
	sessionLife = 10 * time.Second
)

// wrongValue: the server has answered, and what it said of a variable cannot be worked with.
type wrongValue struct{ why string }

func (w wrongValue) Error() string { return w.why }

// variable is a node whose value is words: an array of UInt16, or one.
type variable struct {
	id    *ua.NodeID
	name  string // for people
	words int
	array bool
	grows bool // the server may have more of them
}

// newVariable is the node with a string id in a namespace.
func newVariable(namespace uint16, name string, words int) variable {
	return variable{id: ua.NewStringNodeID(namespace, name), name: name, words: words}
}

// client is one session on one channel. Only its close may be called from another goroutine, as the last thing.
type client struct {
	*channel
	token *ua.NodeID // of the session; nil: none
}

// dial opens a session, without security and without a name.
func dial(ctx context.Context, endpoint string, timeout, life time.Duration) (*client, error) {
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	channel, err := connect(ctx, endpoint, timeout)
	if err != nil {
		return nil, plain(err)
	}
	c := &client{channel: channel}
	over := context.AfterFunc(ctx, func() { _ = c.tcp.Close() })
	if err = c.begin(endpoint, life); !over() && err == nil {
		err = errNoAnswer
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *client) begin(endpoint string, life time.Duration) error {
	if err := c.hello(endpoint); err != nil {
		return plain(err)
	}
	if err := c.open(ua.SecurityTokenRequestTypeIssue); err != nil {
		return fmt.Errorf("open a channel without security: %w", plain(err))
	}
	nonce := make([]byte, 32)
	_, _ = rand.Read(nonce) // it does not fail
	r, err := c.ask(&ua.CreateSessionRequest{
		ClientDescription: &ua.ApplicationDescription{ApplicationURI: "urn:surehand", ProductURI: "urn:surehand",
			ApplicationName: ua.NewLocalizedText("Surehand"), ApplicationType: ua.ApplicationTypeClient},
		EndpointURL: endpoint, SessionName: "Surehand", ClientNonce: nonce, RequestedSessionTimeout: float64(life / time.Millisecond),
	}, id.CreateSessionResponse_Encoding_DefaultBinary)
	if err != nil {
		return fmt.Errorf("create a session: %w", err)
	}
	token, policy, offered := r.session()
	if r.broken {
		return fmt.Errorf("create a session: %w", errBroken)
	}
	if !offered {
		return errors.New("the server lets nobody in without security and without a name: allow policy None with anonymous users for this endpoint")
	}
	c.token = token
	_, err = c.ask(&ua.ActivateSessionRequest{
		ClientSignature: &ua.SignatureData{}, UserTokenSignature: &ua.SignatureData{},
		UserIdentityToken: ua.NewExtensionObject(&ua.AnonymousIdentityToken{PolicyID: policy}),
	}, id.ActivateSessionResponse_Encoding_DefaultBinary)
	if err != nil {
		return fmt.Errorf("activate the session: %w", err)
	}
	return nil
}

// ask sends one request and waits for its answer, at most for the time-out.
func (c *client) ask(request ua.Request, want uint32) (*reader, error) {
	r, err := c.channel.ask(request, c.token, want)
	return r, plain(err)
}

// namespace is the index that a namespace has on this server now.
func (c *client) namespace(uri string) (uint16, error) {
	r, err := c.results(ua.NewNumericNodeID(0, id.Server_NamespaceArray))
	if err != nil {
		return 0, fmt.Errorf("read the namespaces: %w", err)
	}
	all := r.value()
	if r.broken {
		return 0, fmt.Errorf("read the namespaces: %w", errBroken)
	}
	if n := slices.Index(all.texts, uri); n >= 0 && all.status == ua.StatusOK {
		return uint16(n), nil
	}
	return 0, wrongValue{fmt.Sprintf("the server has no namespace %q: the machine's program is not there, or namespace in the plant file is wrong", uri)}
}

// results asks for the values of nodes, and gives the answer where the first of them begins.
func (c *client) results(nodes ...*ua.NodeID) (*reader, error) {
	request := &ua.ReadRequest{MaxAge: 0, TimestampsToReturn: ua.TimestampsToReturnNeither} // MaxAge 0: as new as it can be had
	for _, n := range nodes {
		request.NodesToRead = append(request.NodesToRead, &ua.ReadValueID{NodeID: n, AttributeID: ua.AttributeIDValue, DataEncoding: &ua.QualifiedName{}})
	}
	r, err := c.ask(request, id.ReadResponse_Encoding_DefaultBinary)
	if err != nil {
		return nil, err
	}
	return r, r.results("values", len(nodes))
}

// read reads variables in one request and strings their words together.
func (c *client) read(variables []variable) (words []uint16, err error) {
	nodes := make([]*ua.NodeID, len(variables))
	for n, v := range variables {
		nodes[n] = v.id
	}
	r, err := c.results(nodes...)
	if err != nil {
		return nil, err
	}
	for _, v := range variables {
		got := r.value()
		if r.broken {
			return nil, errBroken
		}
		of, err := v.wordsOf(got)
		if err != nil {
			return nil, err
		}
		words = append(words, of...)
	}
	return words, nil
}

// wordsOf takes good values only: an uncertain one may be the last that a server had of a machine that is gone.
func (v variable) wordsOf(got value) ([]uint16, error) {
	switch {
	case got.status != ua.StatusOK:
		return nil, wrongValue{fmt.Sprintf("%s: %s", v.name, said(got.status))}
	case got.words == nil || got.array != v.array:
		return nil, wrongValue{fmt.Sprintf("%s: is %s; it must be %s", v.name, got, v.kind())}
	case len(got.words) != v.words && !(v.grows && len(got.words) > v.words):
		return nil, wrongValue{fmt.Sprintf("%s: has %d words; it must be %s", v.name, len(got.words), v.kind())}
	}
	return got.words[:v.words], nil
}

func (v variable) kind() string {
	if v.array {
		return fmt.Sprintf("UInt16[%d]", v.words)
	}
	return "UInt16"
}

// write writes whole variables in one request.
func (c *client) write(variables []variable, words [][]uint16) error {
	request := &ua.WriteRequest{}
	for n, v := range variables {
		var value any = words[n]
		if !v.array {
			value = words[n][0]
		}
		made, err := ua.NewVariant(value)
		if err != nil {
			return wrongValue{fmt.Sprintf("%s: %v", v.name, err)}
		}
		// The value alone: many servers refuse one that comes with a time or a status.
		request.NodesToWrite = append(request.NodesToWrite, &ua.WriteValue{NodeID: v.id, AttributeID: ua.AttributeIDValue,
			Value: &ua.DataValue{EncodingMask: ua.DataValueValue, Value: made}})
	}
	r, err := c.ask(request, id.WriteResponse_Encoding_DefaultBinary)
	if err != nil {
		return err
	}
	if err := r.results("results", len(variables)); err != nil {
		return err
	}
	for _, v := range variables {
		status := ua.StatusCode(r.word())
		if r.broken {
			return errBroken
		}
		if status != ua.StatusOK { // also "completes later": it is not there yet
			return wrongValue{fmt.Sprintf("write %s: %s", v.name, said(status))}
		}
	}
	return nil
}

// close returns at once. The session is closed where the server answers; the connection is let go of in any case.
func (c *client) close() {
	go func() {
		if c.token != nil {
			_, _ = c.ask(&ua.CloseSessionRequest{DeleteSubscriptions: true}, id.CloseSessionResponse_Encoding_DefaultBinary)
		}
		c.channel.close()
	}()
}

func said(s ua.StatusCode) string {
	if d, known := ua.StatusCodes[s]; known {
		return fmt.Sprintf("the server says %s", d.Name)
	}
	return fmt.Sprintf("the server says status 0x%08X", uint32(s))
}

// plain says an error in words that are the same at every attempt: see workers.Plain.
func plain(err error) error {
	var op *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &op) && errors.Is(err, net.ErrClosed): // by us, because it took too long
		return errNoAnswer
	}
	return workers.Plain(err)
}
