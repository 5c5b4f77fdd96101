package opcua

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/gopcua/opcua/id"
	"github.com/gopcua/opcua/ua"
)

const (
	port = "4840" // where the address names none
	// chunkLimit and messageLimit bound what the server may send at a time; it is told of them. A session's answer brings
	// the server's certificate once for each of its endpoints, which is the most that ever comes.
	chunkLimit   = 1<<16 - 1
	messageLimit = 1 << 18
	// anyTakes is what every server must take at a time, before it has said so. Each of our requests is smaller.
	anyTakes = 8192
	// channelLife is how long a token of the channel is asked to last.
	channelLife = time.Hour

	nothing = 1<<32 - 1 // the length of a text that is not there
)

var (
	// errNoAnswer: nothing came in time. The connection lives on, and a late answer is told apart by its request.
	errNoAnswer = errors.New("no answer in time")
	errLost     = errors.New("the connection was lost")
	// errBroken: what came is no answer. What follows it cannot be trusted either.
	errBroken = errors.New("what the server sent cannot be read")
)

// channel is a secure channel without security, on one TCP connection. It belongs to one goroutine and has none of its
// own: what the server sends is read while somebody waits for an answer, so whatever is wrong with it is an error there.
// The library's own channel takes messages apart in a goroutine that nobody can guard.
type channel struct {
	tcp     net.Conn
	timeout time.Duration // of one request

	takes     uint32    // bytes that the server takes at a time
	id, token uint32    // by the server's count
	renew     time.Time // when another token is asked for
	sequence  uint32    // of our last chunk
	request   uint32    // the last one

	buffer []byte // of the chunk that is being read
	read   int    // how much of it is there
}

// connect makes the connection, on which the channel is to be opened.
func connect(ctx context.Context, endpoint string, timeout time.Duration) (*channel, error) {
	address, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	at := port
	if address.Port() != "" {
		at = address.Port()
	}
	tcp, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(address.Hostname(), at))
	if err != nil {
		return nil, err
	}
	return &channel{tcp: tcp, timeout: timeout, takes: anyTakes, buffer: make([]byte, chunkLimit)}, nil
}

// hello agrees on sizes.
func (c *channel) hello(endpoint string) error {
	if err := c.send("HEL", words(0, chunkLimit, chunkLimit, messageLimit, 0, uint32(len(endpoint))), []byte(endpoint)); err != nil {
		return err
	}
	kind, chunk, err := c.chunk(time.Now().Add(c.timeout))
	if err != nil {
		return err
	}
	r := reader{rest: chunk}
	_ = r.word() // version: 0 is the only one
	if c.takes = r.word(); kind != "ACKF" || r.broken {
		return errBroken
	}
	return nil
}

// open asks for a token, the first one or the next.
func (c *channel) open(how ua.SecurityTokenRequestType) error {
	r, err := c.exchange("OPN", &ua.OpenSecureChannelRequest{RequestType: how, SecurityMode: ua.MessageSecurityModeNone,
		RequestedLifetime: uint32(channelLife / time.Millisecond)}, nil, id.OpenSecureChannelResponse_Encoding_DefaultBinary)
	if err != nil {
		return err
	}
	_ = r.word() // version
	channel, token := r.word(), r.word()
	_ = r.take(8) // when it was made
	life := time.Duration(r.word()) * time.Millisecond
	if r.broken {
		return errBroken
	}
	c.id, c.token, c.renew = channel, token, time.Now().Add(min(life, channelLife)*3/4)
	return nil
}

// ask sends a request and gives its answer, behind the answer's header.
func (c *channel) ask(request ua.Request, session *ua.NodeID, want uint32) (*reader, error) {
	if time.Now().After(c.renew) {
		if err := c.open(ua.SecurityTokenRequestTypeRenew); err != nil {
			return nil, fmt.Errorf("renew the channel: %w", err)
		}
	}
	return c.exchange("MSG", request, session, want)
}

func (c *channel) exchange(kind string, request ua.Request, session *ua.NodeID, want uint32) (*reader, error) {
	c.request++
	if session == nil {
		session = ua.NewTwoByteNodeID(0)
	}
	now := time.Now()
	request.SetHeader(&ua.RequestHeader{AuthenticationToken: session, Timestamp: now, RequestHandle: c.request, TimeoutHint: uint32(c.timeout / time.Millisecond)})
	if err := c.put(kind, request); err != nil {
		return nil, err
	}
	message, err := c.answer(now.Add(c.timeout))
	if err != nil {
		return nil, err
	}
	r := &reader{rest: message}
	is, status := r.service(), r.header()
	switch {
	case r.broken:
		return nil, errBroken
	case status != ua.StatusOK: // the rest of such an answer may be missing
		return nil, errors.New(said(status))
	case is != want:
		return nil, fmt.Errorf("the server answered another question: %d for %d", is, want)
	}
	return r, nil
}

// put sends one message as one chunk.
func (c *channel) put(kind string, request ua.Request) error {
	name, err := ua.Encode(ua.NewFourByteNodeID(0, ua.ServiceTypeID(request)))
	if err != nil {
		return err
	}
	body, err := ua.Encode(request)
	if err != nil {
		return err
	}
	c.sequence++
	head := words(c.id, c.token)
	if kind == "OPN" { // instead of a token it has a policy, and no certificates
		policy := ua.SecurityPolicyURINone
		head = append(words(c.id, uint32(len(policy))), policy...)
		head = append(head, words(nothing, nothing)...)
	}
	return c.send(kind, head, words(c.sequence, c.request), name, body)
}

// send writes a chunk as a whole; after an error it may be there in part, and the connection is of no use.
func (c *channel) send(kind string, parts ...[]byte) error {
	all := slices.Concat(parts...)
	chunk := append([]byte(kind+"F"), words(uint32(len(all)+8))...)
	if chunk = append(chunk, all...); uint32(len(chunk)) > c.takes {
		return fmt.Errorf("a request has %d bytes; the server takes %d", len(chunk), c.takes)
	}
	if err := c.tcp.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	_, err := c.tcp.Write(chunk)
	return err
}

// answer is what comes to the last request. Answers to older ones come too late and are let go.
func (c *channel) answer(until time.Time) (message []byte, err error) {
	for {
		kind, chunk, err := c.chunk(until)
		if err != nil {
			return nil, err
		}
		r := reader{rest: chunk}
		on := r.word()
		switch {
		case kind[:3] == "OPN":
			_, _, _ = r.bytes(), r.bytes(), r.bytes() // policy and certificates
		case kind[:3] == "MSG" && on == c.id:
			_ = r.word() // the token
		default:
			return nil, errBroken
		}
		_ = r.word() // its sequence
		of := r.word()
		switch {
		case r.broken, int32(of-c.request) > 0, len(message)+len(r.rest) > messageLimit:
			return nil, errBroken
		case of != c.request:
			continue
		}
		switch message = append(message, r.rest...); kind[3] {
		case 'F':
			return message, nil
		case 'A':
			return nil, errors.New(said(ua.StatusCode(r.word())))
		case 'C':
		default:
			return nil, errBroken
		}
	}
}

// chunk reads one chunk, which is good until the next one is read. What has come of it when the time is over is kept.
func (c *channel) chunk(until time.Time) (kind string, body []byte, err error) {
	if err := c.tcp.SetReadDeadline(until); err != nil {
		return "", nil, err
	}
	if err := c.fill(8); err != nil {
		return "", nil, err
	}
	size := binary.LittleEndian.Uint32(c.buffer[4:])
	if size < 8 || size > chunkLimit {
		return "", nil, errBroken
	}
	if err := c.fill(int(size)); err != nil {
		return "", nil, err
	}
	c.read = 0
	kind, body = string(c.buffer[:4]), c.buffer[8:size]
	if kind == "ERRF" {
		return "", nil, errors.New(said(ua.StatusCode((&reader{rest: body}).word())))
	}
	return kind, body, nil
}

func (c *channel) fill(size int) error {
	for c.read < size {
		n, err := c.tcp.Read(c.buffer[c.read:size])
		switch c.read += n; {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return errNoAnswer
		case errors.Is(err, io.EOF):
			return errLost
		case err != nil:
			return err
		}
	}
	return nil
}

// close says goodbye where the channel was opened, and lets go of the connection.
func (c *channel) close() {
	if !c.renew.IsZero() {
		c.request++
		_ = c.put("CLO", &ua.CloseSecureChannelRequest{RequestHeader: &ua.RequestHeader{AuthenticationToken: ua.NewTwoByteNodeID(0), Timestamp: time.Now()}})
	}
	_ = c.tcp.Close()
}

func words(of ...uint32) (b []byte) {
	for _, w := range of {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}
