package opcua_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// A chunk of an answer: where its size, its number and its body are, once the channel is open.
const (
	sizeAt    = 4
	channelAt = 8
	requestAt = 20
	bodyAt    = 24
	statusAt  = bodyAt + 4 + 12 // in the answer's header: how it went
)

// of is the kind of an answer by its number in the standard; 0: not one in a whole chunk.
func of(chunk []byte) int {
	at := bodyAt
	if string(chunk[:3]) == "OPN" {
		at = 12 + 4 + len("http://opcfoundation.org/UA/SecurityPolicy#None") + 8 + 8
	}
	if len(chunk) < at+4 || chunk[at] != 1 {
		return 0
	}
	return int(binary.LittleEndian.Uint16(chunk[at+2:]))
}

const (
	opened  = 449
	created = 464
	read    = 634
)

// status is where the array of the status block begins in an answer: its kind, and its length behind that.
func status(chunk []byte) int { return bytes.Index(chunk, []byte{0x85, 14, 0, 0, 0}) }

func put(chunk []byte, at int, value uint32) []byte {
	binary.LittleEndian.PutUint32(chunk[at:], value)
	return chunk
}

// sized is a chunk with the size that it has.
func sized(chunk []byte) []byte { return put(chunk, sizeAt, uint32(len(chunk))) }

// instead puts bytes in place of everything from some place on.
func instead(chunk []byte, at int, tail ...byte) []byte { return sized(append(chunk[:at:at], tail...)) }

// onStatus alters the answers that bring the status block.
func onStatus(alter func(chunk []byte, at int) []byte) func([]byte) []byte {
	return func(chunk []byte) []byte {
		if at := status(chunk); of(chunk) == read && at > 0 {
			return alter(chunk, at)
		}
		return chunk
	}
}

func onAnswer(kind int, alter func(chunk []byte) []byte) func([]byte) []byte {
	return func(chunk []byte) []byte {
		if of(chunk) == kind {
			return alter(chunk)
		}
		return chunk
	}
}

func length(n uint32) func([]byte) []byte {
	return onStatus(func(chunk []byte, at int) []byte { return put(chunk, at+1, n) })
}

var word = binary.LittleEndian.AppendUint32

// hostile is what a server may send instead of an answer, and in which words the driver tells of it. Some ends the library's
// decoder with a panic, by a full memory or by a full stack.
var hostile = map[string]struct {
	alter func(chunk []byte) []byte
	want  string
	first bool // comes while a connection begins
}{
	"an array of -2":                    {length(1<<32 - 2), "cannot be read", false},
	"an array of -2^31":                 {length(1 << 31), "cannot be read", false},
	"an array of 2^31 - 1":              {length(1<<31 - 1), "cannot be read", false},
	"an array of 65535":                 {length(65535), "cannot be read", false},
	"an array of -1":                    {length(1<<32 - 1), "has 0 words", false},
	"results without end":               {onStatus(func(chunk []byte, at int) []byte { return put(chunk, at-5, 1<<31-1) }), "cannot be read", false},
	"no results":                        {onStatus(func(chunk []byte, at int) []byte { return put(chunk, at-5, 0) }), "answered 0 values", false},
	"a negative count of results":       {onStatus(func(chunk []byte, at int) []byte { return put(chunk, at-5, 1<<32-7) }), "cannot be read", false},
	"an array that ends early":          {onStatus(func(chunk []byte, at int) []byte { return instead(chunk, at+7) }), "cannot be read", false},
	"an answer that ends in its header": {onStatus(func(chunk []byte, at int) []byte { return instead(chunk, statusAt+2) }), "cannot be read", false},
	"a chunk that ends in its own":      {onStatus(func(chunk []byte, at int) []byte { return instead(chunk, requestAt+1) }), "cannot be read", false},
	"a chunk of nothing":                {onStatus(func(chunk []byte, at int) []byte { return instead(chunk, 8) }), "cannot be read", false},
	"a size of 0":                       {onStatus(func(chunk []byte, at int) []byte { return put(chunk, sizeAt, 0) }), "cannot be read", false},
	"a size of 7":                       {onStatus(func(chunk []byte, at int) []byte { return put(chunk, sizeAt, 7) }), "cannot be read", false},
	"a size of 2^32 - 1":                {onStatus(func(chunk []byte, at int) []byte { return put(chunk, sizeAt, 1<<32-1) }), "cannot be read", false},
	"more than was agreed":              {onStatus(func(chunk []byte, at int) []byte { return sized(append(chunk, make([]byte, 1<<16)...)) }), "cannot be read", false},
	"a size that never comes":           {onStatus(func(chunk []byte, at int) []byte { return put(chunk, sizeAt, 1<<16-1) }), "no answer", false},
	"values in values":                  {onStatus(func(chunk []byte, at int) []byte { return instead(chunk, at, bytes.Repeat([]byte{24}, 60000)...) }), "is Variant", false},
	"arrays in arrays": {onStatus(func(chunk []byte, at int) []byte {
		return instead(chunk, at, bytes.Repeat([]byte{24 | 0x80, 255, 255, 0, 0}, 12000)...)
	}), "is Variant as an array", false},
	"diagnostics in diagnostics": {onStatus(func(chunk []byte, at int) []byte {
		return instead(chunk, statusAt+4, bytes.Repeat([]byte{0x40}, 60000)...)
	}), "cannot be read", false},
	"a matrix of more than there is": {onStatus(func(chunk []byte, at int) []byte {
		chunk[at] |= 0x40
		return instead(chunk, at+5+28, word(word(nil, 1<<30), 7)...)
	}), "cannot be read", false},
	"a matrix": {onStatus(func(chunk []byte, at int) []byte {
		chunk[at] |= 0x40
		return instead(chunk, at+5+28, word(word(word(nil, 2), 2), 7)...)
	}), "is Uint16 as an array", false},
	"a matrix without a side": {onStatus(func(chunk []byte, at int) []byte {
		chunk[at] |= 0x40
		return instead(chunk, at+5+28, word(word(word(nil, 2), 0), 0)...)
	}), "is Uint16 as an array", false},
	"an unknown kind of value":   {onStatus(func(chunk []byte, at int) []byte { chunk[at] = 0xbf; return chunk }), "is ", false},
	"an unknown kind of message": {onStatus(func(chunk []byte, at int) []byte { copy(chunk, "XYZ"); return chunk }), "cannot be read", false},
	"an unknown kind of chunk":   {onStatus(func(chunk []byte, at int) []byte { chunk[3] = 'X'; return chunk }), "cannot be read", false},
	"an answer that was given up": {onStatus(func(chunk []byte, at int) []byte {
		chunk[3] = 'A'
		return instead(chunk, bodyAt, word(word(nil, 0x80080000), 1<<32-2)...)
	}), "StatusBadEncodingLimitsExceeded", false},
	"an error":                           {onStatus(func(chunk []byte, at int) []byte { copy(chunk, "ERR"); return put(chunk, 8, 0x80820000) }), "StatusBadTCPInternalError", false},
	"an empty error":                     {onStatus(func(chunk []byte, at int) []byte { copy(chunk, "ERR"); return instead(chunk, 8) }), "the server says", false},
	"another channel":                    {onStatus(func(chunk []byte, at int) []byte { return put(chunk, channelAt, 77) }), "cannot be read", false},
	"an answer to what comes later":      {onStatus(func(chunk []byte, at int) []byte { return put(chunk, requestAt, 1<<20) }), "cannot be read", false},
	"another answer":                     {onStatus(func(chunk []byte, at int) []byte { return put(chunk, bodyAt, 0x02a40001) }), "answered another question", false},
	"an answer of a kind without number": {onStatus(func(chunk []byte, at int) []byte { return put(chunk, bodyAt, 0x1122ff03) }), "cannot be read", false},
	"a service that failed":              {onStatus(func(chunk []byte, at int) []byte { return put(chunk, statusAt, 0x80040000) }), "StatusBadResourceUnavailable", false},
	"parts without end": {onStatus(func(chunk []byte, at int) []byte {
		chunk[3] = 'C'
		part := sized(append(chunk, make([]byte, 60000)...))
		return bytes.Repeat(part, 10)
	}), "cannot be read", false},
	"a namespace of -2 letters": {onAnswer(read, func(chunk []byte) []byte {
		if at := bytes.Index(chunk, []byte("urn:")); at > 0 && status(chunk) < 0 {
			put(chunk, at-4, 1<<32-2)
		}
		return chunk
	}), "cannot be read", true},
	"a session that cannot be named": {onAnswer(created, func(chunk []byte) []byte { chunk[bodyAt+4+24] = 9; return chunk }), "cannot be read", true},
	"a session with a long name":     {onAnswer(created, func(chunk []byte) []byte { chunk[bodyAt+4+24] = 3; return put(chunk, bodyAt+4+24+3, 1<<31-1) }), "cannot be read", true},
	"endpoints without end":          {onAnswer(created, func(chunk []byte) []byte { return instead(chunk, len(chunk)-len(chunk)/2) }), "cannot be read", true},
	"a channel that is cut short":    {onAnswer(opened, func(chunk []byte) []byte { return instead(chunk, len(chunk)-12) }), "cannot be read", true},
	"a server that takes nothing": {func(chunk []byte) []byte {
		if string(chunk[:3]) == "ACK" {
			put(chunk, 12, 0)
		}
		return chunk
	}, "the server takes 0", true},
	"an acknowledgement of nothing": {func(chunk []byte) []byte {
		if string(chunk[:3]) == "ACK" {
			return instead(chunk, 8)
		}
		return chunk
	}, "cannot be read", true},
	"another protocol": {func(chunk []byte) []byte { return []byte("HTTP/1.1 400 Bad Request\r\n\r\n") }, "cannot be read", true},
}

// Whatever a server sends is an error of that connection: it is said, the next connection is made, and work goes on.
// proves quality 16
func TestHostileAnswerIsAnErrorOfItsConnection(t *testing.T) {
	for name, h := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, false, nil)
			r := watched(t, c)
			r.awaitReached()
			inTheEnd(t, c, 1)
			before := c.proxy.connections()
			c.proxy.set(func() { c.proxy.alter = h.alter })
			if h.first {
				c.proxy.cut()
				c.proxy.heal()
			}
			r.awaitError(h.want)
			c.proxy.set(func() { c.proxy.alter = nil })
			c.proxy.awaitConnections(t, before+1)
			r.awaitReached()
			inTheEnd(t, c, 9)
			if harm := c.harm(); len(harm) > 0 {
				t.Error(harm)
			}
			if all := c.truth().Begun; len(all) != 2 || all[1].Number < 9 {
				t.Errorf("begun: %+v", all)
			}
		})
	}
}

// Random faults in everything that comes: no process ends, nothing is left behind, and it works again afterwards.
// proves quality 16
func TestFlippedBytesEndNothing(t *testing.T) {
	c := open(t, false, nil)
	r := watched(t, c)
	r.awaitReached()
	goroutines := runtime.NumGoroutine()
	for seed := range uint64(4) {
		var altered atomic.Int64
		random := rand.New(rand.NewPCG(seed, 7))
		alter := func(chunk []byte) []byte {
			if random.IntN(3) > 0 {
				return chunk
			}
			altered.Add(1)
			for range 1 + random.IntN(3) {
				chunk[random.IntN(len(chunk))] ^= 1 << random.IntN(8)
			}
			return chunk
		}
		c.proxy.set(func() {
			c.proxy.alter = func(chunk []byte) (altered []byte) {
				c.proxy.set(func() { altered = alter(chunk) }) // connections end while others begin
				return altered
			}
		})
		for giveUp := time.Now().Add(patience); altered.Load() < 10; {
			if time.Now().After(giveUp) {
				t.Fatalf("seed %d: %d altered chunks in %s", seed, altered.Load(), patience)
			}
			r.more(1)
		}
		c.proxy.set(func() { c.proxy.alter = nil })
		r.awaitReached()
	}
	inTheEnd(t, c, 1)
	if harm := c.harm(); len(harm) > 0 {
		t.Error(harm)
	}
	for giveUp := time.Now().Add(patience); runtime.NumGoroutine() > goroutines; {
		if time.Now().After(giveUp) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines were %d:\n%s", runtime.NumGoroutine(), goroutines, stacks[:runtime.Stack(stacks, true)])
		}
		r.more(1)
	}
}

// The channel's token is renewed in time, on the same connection.
func TestChannelIsRenewed(t *testing.T) {
	t.Parallel()
	c := open(t, false, nil)
	var renewed atomic.Int64
	c.proxy.set(func() {
		c.proxy.alter = onAnswer(opened, func(chunk []byte) []byte {
			renewed.Add(1)
			return put(chunk, len(chunk)-8, 100) // how long it lasts; behind it is an empty nonce
		})
	})
	r := watched(t, c)
	r.awaitReached()
	inTheEnd(t, c, 1)
	for renewed.Load() < 5 {
		r.more(1)
	}
	r.awaitReached()
	inTheEnd(t, c, 2)
	if n := c.proxy.connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
}
