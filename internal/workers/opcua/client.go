package opcua

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/gopcua/opcua/id"
	"github.com/gopcua/opcua/ua"
	"github.com/gopcua/opcua/uacp"
	"github.com/gopcua/opcua/uasc"

	"surehand/internal/workers"
)

const (
	// openWithin bounds the way to a session; each request on it is bounded by the time-out as well.
	openWithin = 5 * time.Second
	// channelLife is how long the keys of a channel last; the library renews them in time.
	channelLife = time.Hour
	// sessionLife is after which silence the server forgets a session that could not be closed: its sessions are few.
	sessionLife = 10 * time.Second
)

// errNoAnswer: nothing came in time. The connection lives on, and a late answer is told apart by its request.
var errNoAnswer = errors.New("no answer in time")

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

// client is one session on one secure channel, which is on one TCP connection. The library's own client on top of these
// is not used: its Close can hang, it cannot be made to let go of the connection, and it mends sessions by itself.
type client struct {
	tcp     *uacp.Conn
	channel *uasc.SecureChannel
	token   *ua.NodeID // of the session; nil: none
	timeout time.Duration
}

// dial opens a session, without security and without a name.
func dial(ctx context.Context, endpoint string, timeout, life time.Duration) (*client, error) {
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	tcp, err := (&uacp.Dialer{ClientACK: uacp.DefaultClientACK}).Dial(ctx, endpoint)
	if err != nil {
		return nil, plain(err)
	}
	channel, err := uasc.NewSecureChannel(endpoint, tcp, &uasc.Config{SecurityPolicyURI: ua.SecurityPolicyURINone, SecurityMode: ua.MessageSecurityModeNone,
		Lifetime: uint32(channelLife / time.Millisecond), RequestTimeout: timeout}, make(chan error, 1))
	if err != nil {
		_ = tcp.Close()
		return nil, plain(err)
	}
	c := &client{tcp: tcp, channel: channel, timeout: timeout}
	if err := c.begin(ctx, endpoint, life); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *client) begin(ctx context.Context, endpoint string, life time.Duration) error {
	if err := c.channel.Open(ctx); err != nil {
		return fmt.Errorf("open a channel without security: %w", plain(err))
	}
	nonce := make([]byte, 32)
	_, _ = rand.Read(nonce) // it does not fail
	session, err := ask[*ua.CreateSessionResponse](ctx, c, &ua.CreateSessionRequest{
		ClientDescription: &ua.ApplicationDescription{ApplicationURI: "urn:surehand", ProductURI: "urn:surehand",
			ApplicationName: ua.NewLocalizedText("Surehand"), ApplicationType: ua.ApplicationTypeClient},
		EndpointURL: endpoint, SessionName: "Surehand", ClientNonce: nonce, RequestedSessionTimeout: float64(life / time.Millisecond),
	})
	if err != nil {
		return fmt.Errorf("create a session: %w", err)
	}
	policy, offered := anonymous(session.ServerEndpoints)
	if !offered {
		return errors.New("the server lets nobody in without security and without a name: allow policy None with anonymous users for this endpoint")
	}
	c.token = session.AuthenticationToken
	_, err = ask[*ua.ActivateSessionResponse](ctx, c, &ua.ActivateSessionRequest{
		ClientSignature: &ua.SignatureData{}, UserTokenSignature: &ua.SignatureData{},
		UserIdentityToken: ua.NewExtensionObject(&ua.AnonymousIdentityToken{PolicyID: policy}),
	})
	if err != nil {
		return fmt.Errorf("activate the session: %w", err)
	}
	return nil
}

// anonymous is the server's own name for "without a name". One that lists no endpoints is asked by the usual one.
func anonymous(endpoints []*ua.EndpointDescription) (policy string, offered bool) {
	if len(endpoints) == 0 {
		return "Anonymous", true
	}
	for _, e := range endpoints {
		if e == nil || e.SecurityMode != ua.MessageSecurityModeNone {
			continue
		}
		for _, t := range e.UserIdentityTokens {
			if t != nil && t.TokenType == ua.UserTokenTypeAnonymous {
				return t.PolicyID, true
			}
		}
	}
	return "", false
}

// ask sends one request and waits for its answer, at most for the time-out.
func ask[R ua.Response](ctx context.Context, c *client, request ua.Request) (answer R, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	err = c.channel.SendRequest(ctx, request, c.token, func(got ua.Response) error {
		var is bool
		if answer, is = got.(R); !is {
			return fmt.Errorf("the server answered %T to %T", got, request)
		}
		return nil
	})
	return answer, plain(err)
}

// namespace is the index that a namespace has on this server now.
func (c *client) namespace(ctx context.Context, uri string) (uint16, error) {
	values, err := c.values(ctx, ua.NewNumericNodeID(0, id.Server_NamespaceArray))
	if err != nil {
		return 0, fmt.Errorf("read the namespaces: %w", err)
	}
	if all, is := content(values[0]).([]string); is && values[0].Status == ua.StatusOK {
		for n, has := range all {
			if has == uri {
				return uint16(n), nil
			}
		}
	}
	return 0, wrongValue{fmt.Sprintf("the server has no namespace %q: the machine's program is not there, or namespace in the plant file is wrong", uri)}
}

func (c *client) values(ctx context.Context, nodes ...*ua.NodeID) ([]*ua.DataValue, error) {
	request := &ua.ReadRequest{MaxAge: 0, TimestampsToReturn: ua.TimestampsToReturnNeither} // MaxAge 0: as new as it can be had
	for _, n := range nodes {
		request.NodesToRead = append(request.NodesToRead, &ua.ReadValueID{NodeID: n, AttributeID: ua.AttributeIDValue, DataEncoding: &ua.QualifiedName{}})
	}
	answer, err := ask[*ua.ReadResponse](ctx, c, request)
	if err != nil {
		return nil, err
	}
	if len(answer.Results) != len(nodes) {
		return nil, wrongValue{fmt.Sprintf("the server answered %d values to a read of %d", len(answer.Results), len(nodes))}
	}
	return answer.Results, nil
}

// read reads variables in one request and strings their words together.
func (c *client) read(variables []variable) (words []uint16, err error) {
	nodes := make([]*ua.NodeID, len(variables))
	for n, v := range variables {
		nodes[n] = v.id
	}
	values, err := c.values(context.Background(), nodes...)
	if err != nil {
		return nil, err
	}
	for n, v := range variables {
		of, err := v.wordsOf(values[n])
		if err != nil {
			return nil, err
		}
		words = append(words, of...)
	}
	return words, nil
}

func content(d *ua.DataValue) any {
	if d == nil || d.Value == nil {
		return nil
	}
	return d.Value.Value()
}

// wordsOf takes good values only: an uncertain one may be the last that a server had of a machine that is gone.
func (v variable) wordsOf(d *ua.DataValue) ([]uint16, error) {
	if d != nil && d.Status != ua.StatusOK {
		return nil, wrongValue{fmt.Sprintf("%s: %s", v.name, said(d.Status))}
	}
	switch words := content(d).(type) {
	case uint16:
		if !v.array {
			return []uint16{words}, nil
		}
	case []uint16:
		if v.array && (len(words) == v.words || v.grows && len(words) > v.words) {
			return words[:v.words], nil
		}
		if v.array {
			return nil, wrongValue{fmt.Sprintf("%s: has %d words; it must be %s", v.name, len(words), v.kind())}
		}
	}
	return nil, wrongValue{fmt.Sprintf("%s: is %s; it must be %s", v.name, kindOf(d), v.kind())}
}

func (v variable) kind() string {
	if v.array {
		return fmt.Sprintf("UInt16[%d]", v.words)
	}
	return "UInt16"
}

func kindOf(d *ua.DataValue) string {
	if content(d) == nil {
		return "empty"
	}
	kind := strings.TrimPrefix(d.Value.Type().String(), "TypeID")
	if d.Value.Has(ua.VariantArrayValues) {
		kind += " as an array"
	}
	return kind
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
	answer, err := ask[*ua.WriteResponse](context.Background(), c, request)
	if err != nil {
		return err
	}
	if len(answer.Results) != len(variables) {
		return wrongValue{fmt.Sprintf("the server answered %d results to a write of %d", len(answer.Results), len(variables))}
	}
	for n, v := range variables {
		if status := answer.Results[n]; status != ua.StatusOK { // also "completes later": it is not there yet
			return wrongValue{fmt.Sprintf("write %s: %s", v.name, said(status))}
		}
	}
	return nil
}

// close returns at once. The session is closed where the server answers; the connection is let go of in any case.
func (c *client) close() {
	go func() {
		enough := time.AfterFunc(2*c.timeout, func() { _ = c.tcp.Close() })
		defer enough.Stop()
		if c.token != nil {
			_, _ = ask[*ua.CloseSessionResponse](context.Background(), c, &ua.CloseSessionRequest{DeleteSubscriptions: true})
		}
		_ = c.channel.Close()
		_ = c.tcp.Close()
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
	var status ua.StatusCode
	switch {
	case err == nil:
		return nil
	case errors.As(err, &op):
		return workers.Plain(err)
	case errors.Is(err, ua.StatusBadTimeout), errors.Is(err, context.DeadlineExceeded):
		return errNoAnswer
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "->"): // the library may have flattened a network error
		return errors.New("the connection was lost")
	case errors.As(err, &status):
		return errors.New(said(status))
	}
	return workers.Plain(err)
}
