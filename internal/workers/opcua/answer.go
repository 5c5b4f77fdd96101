package opcua

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/gopcua/opcua/ua"
)

// reader takes an answer apart, front to back. It never goes past the end: what is not there reads as nothing, and broken
// tells of it. Whatever the lengths in it say, it makes no more than a few times the answer's bytes, and it does not call
// itself. It knows the few shapes that this driver asks for; the library's decoder believes lengths, and nests without end.
type reader struct {
	rest   []byte
	broken bool
}

func (r *reader) take(size int) []byte {
	if size < 0 || size > len(r.rest) {
		r.rest, r.broken = nil, true
		return nil
	}
	taken := r.rest[:size]
	r.rest = r.rest[size:]
	return taken
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) half() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) word() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// count is the length of an array whose elements have so many bytes at least; none if it is not there.
func (r *reader) count(least int) int {
	n := r.word()
	if n == nothing {
		return 0
	}
	if int64(n)*int64(least) > int64(len(r.rest)) {
		r.rest, r.broken = nil, true
		return 0
	}
	return int(n)
}

func (r *reader) bytes() []byte { return r.take(r.count(1)) }

func (r *reader) text() string { return string(r.bytes()) }

func (r *reader) texts() []string {
	all := make([]string, r.count(4))
	for n := range all {
		all[n] = r.text()
	}
	return all
}

// node is a node id as it stands there.
func (r *reader) node() []byte {
	whole := r.rest
	switch r.byte() {
	case 0: // a number of one byte
		r.take(1)
	case 1: // a namespace of one byte, a number of two
		r.take(3)
	case 2:
		r.take(6)
	case 3, 5: // a text or bytes
		r.take(2)
		r.bytes()
	case 4: // a GUID
		r.take(18)
	default:
		r.take(-1)
	}
	return whole[:len(whole)-len(r.rest)]
}

// service is the number of an answer's kind; 0: no number of the standard's own.
func (r *reader) service() uint32 {
	switch of := r.node(); {
	case r.broken:
	case of[0] == 1 && of[1] == 0:
		return uint32(binary.LittleEndian.Uint16(of[2:]))
	case of[0] == 2 && of[1] == 0 && of[2] == 0:
		return binary.LittleEndian.Uint32(of[3:])
	}
	return 0
}

// header is what every answer begins with; only how it went matters.
func (r *reader) header() ua.StatusCode {
	r.take(8) // when
	r.take(4) // the request's handle
	status := ua.StatusCode(r.word())
	for more := true; more; { // diagnostics, which may have diagnostics
		mask := r.byte()
		for _, bit := range []byte{1, 2, 4, 8} {
			if mask&bit != 0 {
				r.take(4)
			}
		}
		if mask&0x10 != 0 {
			r.bytes()
		}
		if mask&0x20 != 0 {
			r.take(4)
		}
		more = mask&0x40 != 0
	}
	for range r.count(4) {
		r.bytes()
	}
	r.node() // an addition of the server's own
	if r.byte() != 0 {
		r.bytes()
	}
	return status
}

// session is the answer to a new session: its token, and whether the server lets anybody in without security and without a
// name, and how it calls that. One that lists no endpoints is asked by the usual name.
func (r *reader) session() (token *ua.NodeID, policy string, offered bool) {
	r.node() // the session's public id
	token = new(ua.NodeID)
	if _, err := token.Decode(r.node()); err != nil {
		r.take(-1)
	}
	r.take(8) // how long it lasts
	r.bytes() // nonce
	r.bytes() // certificate
	endpoints := r.count(1)
	for range endpoints {
		if named, has := r.endpoint(); has && !offered {
			policy, offered = named, true
		}
	}
	if endpoints == 0 {
		return token, "Anonymous", true
	}
	return token, policy, offered
}

func (r *reader) endpoint() (policy string, offered bool) {
	r.bytes() // address
	r.bytes() // application, product
	r.bytes()
	for name, bit := r.byte(), byte(1); bit <= 2; bit <<= 1 {
		if name&bit != 0 {
			r.bytes()
		}
	}
	r.take(4) // kind of application
	r.bytes() // gateway, profile
	r.bytes()
	for range r.count(4) { // where it is found
		r.bytes()
	}
	r.bytes() // certificate
	mode := ua.MessageSecurityMode(r.word())
	r.bytes() // security policy
	for range r.count(4) {
		named, kind := r.text(), ua.UserTokenType(r.word())
		for range 3 { // of tokens that somebody else gives out
			r.bytes()
		}
		if mode == ua.MessageSecurityModeNone && kind == ua.UserTokenTypeAnonymous && !offered {
			policy, offered = named, true
		}
	}
	r.bytes() // transport
	r.byte()  // how secure the server thinks it is
	return policy, offered
}

// results checks how many results an answer has.
func (r *reader) results(name string, want int) error {
	n := r.count(1)
	if r.broken {
		return errBroken
	}
	if n != want {
		return wrongValue{fmt.Sprintf("the server answered %d %s to a request of %d", n, name, want)}
	}
	return nil
}

// value is what a variable has: words, texts, or something that is not for us. What is behind that is not read.
type value struct {
	status ua.StatusCode
	kind   string // as in the standard; empty: nothing
	array  bool
	words  []uint16
	texts  []string
}

// String tells what it is, for people.
func (v value) String() string {
	switch {
	case v.kind == "":
		return "empty"
	case v.array:
		return v.kind + " as an array"
	}
	return v.kind
}

func (r *reader) value() (v value) {
	mask := r.byte()
	if mask&1 != 0 && !r.variant(&v) {
		r.rest = nil
		return v
	}
	if mask&2 != 0 {
		v.status = ua.StatusCode(r.word())
	}
	for _, part := range []struct {
		bit  byte
		size int
	}{{4, 8}, {16, 2}, {8, 8}, {32, 2}} { // times, and what is finer than them
		if mask&part.bit != 0 {
			r.take(part.size)
		}
	}
	return v
}

// variant tells whether the value is of a kind that can be read, and with it what follows.
func (r *reader) variant(v *value) bool {
	const array, matrix = 0x80, 0x40
	mask := r.byte()
	kind := ua.TypeID(mask & 0x3f)
	if kind == ua.TypeIDNull {
		return true
	}
	v.kind, v.array = strings.TrimPrefix(kind.String(), "TypeID"), mask&array != 0
	switch {
	case kind == ua.TypeIDUint16 && !v.array:
		v.words = []uint16{r.half()}
	case kind == ua.TypeIDUint16:
		v.words = make([]uint16, r.count(2))
		for n := range v.words {
			v.words[n] = r.half()
		}
	case kind == ua.TypeIDString && v.array:
		v.texts = r.texts()
	default:
		return false
	}
	if mask&matrix == 0 {
		return true
	}
	dimensions := r.count(4)
	r.take(4 * dimensions)
	if dimensions > 1 {
		v.words, v.texts = nil, nil
		return false
	}
	return true
}
