package line

import (
	"encoding/binary"
	"io"
	"net"
	"time"
)

// A Modbus TCP server of three functions. It is our own because a fault must strike between a request, its effect and
// its answer, where libraries have no hook.

const (
	readHolding   = 3
	writeRegister = 6
	writeHolding  = 16

	illegalFunction = 1
	illegalAddress  = 2
	illegalValue    = 3
	deviceBusy      = 6
	noSuchUnit      = 11
)

// request is one frame, taken apart.
type request struct {
	transaction [2]byte
	unit        byte
	pdu         []byte // at least the function
}

func (q request) isWrite() bool { return q.pdu[0] == writeRegister || q.pdu[0] == writeHolding }

func (q request) frame(pdu []byte) []byte {
	frame := []byte{q.transaction[0], q.transaction[1], 0, 0, 0, byte(len(pdu) + 1), q.unit}
	return append(frame, pdu...)
}

func (q request) exception(code byte) []byte { return []byte{q.pdu[0] | 0x80, code} }

func readRequest(r io.Reader) (q request, ok bool) {
	var header [7]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return q, false
	}
	length := binary.BigEndian.Uint16(header[4:6])
	if header[2] != 0 || header[3] != 0 || length < 2 || length > 254 {
		return q, false // not Modbus: no way to find the next frame
	}
	q = request{transaction: [2]byte(header[:2]), unit: header[6], pdu: make([]byte, length-1)}
	_, err := io.ReadFull(r, q.pdu)
	return q, err == nil
}

// serve is called without the World's mutex.
func (c *Controller) serve(conn net.Conn) {
	s := &session{conn: conn}
	for {
		q, ok := readRequest(conn)
		if !ok || !c.receive(s, q) {
			return
		}
	}
}

// receive lets a request meet its faults, and says whether the connection goes on. It is called without the World's
// mutex.
func (c *Controller) receive(s *session, q request) bool {
	c.w.lock()
	f, chance, power := c.linkFaults, c.linkChance, c.power
	drop := chance.strikes("drop_request", f.DropRequest)
	dropWrite := q.isWrite() && chance.strikes("drop_write", f.DropWrite)
	lateWrite := q.isWrite() && chance.strikes("late_write", f.LateWrite)
	busy := chance.strikes("busy", f.Busy)
	c.w.unlock()
	switch {
	case drop || dropWrite:
		return true
	case busy:
		s.send(q.frame(q.exception(deviceBusy)))
		return true
	case lateWrite:
		time.AfterFunc(f.LateWriteBy, func() { c.executeAndAnswer(s, q, power) })
		return true
	}
	return c.executeAndAnswer(s, q, power)
}

// executeAndAnswer is called without the World's mutex. power tells a late write that the controller it was meant for
// has lost its memory meanwhile.
func (c *Controller) executeAndAnswer(s *session, q request, power int) bool {
	c.w.lock()
	if c.w.closed || c.off || c.power != power {
		c.w.unlock()
		return false
	}
	goBefore := c.command[c.goAt]
	answer := q.frame(c.execute(q))
	raisedGo := goBefore == 0 && c.command[c.goAt] != 0
	f, chance := c.linkFaults, c.linkChance
	lost := chance.strikes("lose_answer", f.LoseAnswer)
	lostWrite := q.isWrite() && chance.strikes("lose_write_answer", f.LoseWriteAnswer)
	lostGo := raisedGo && chance.strikes("lose_go_answer", f.LoseGoAnswer)
	late := chance.strikes("late_answer", f.LateAnswer)
	hangUp := chance.strikes("hang_up", f.HangUp)
	c.w.unlock()
	switch {
	case hangUp:
		_ = s.conn.Close()
		return false
	case lost || lostWrite || lostGo:
	case late:
		time.AfterFunc(f.LateAnswerBy, func() { s.send(answer) })
	default:
		s.send(answer)
	}
	return true
}

func (c *Controller) execute(q request) []byte {
	if q.unit != c.o.Unit {
		return q.exception(noSuchUnit)
	}
	if len(q.pdu) < 5 {
		return q.exception(illegalValue)
	}
	address, word := binary.BigEndian.Uint16(q.pdu[1:]), binary.BigEndian.Uint16(q.pdu[3:])
	switch q.pdu[0] {
	case readHolding:
		if word < 1 || word > 125 {
			return q.exception(illegalValue)
		}
		return c.read(q, int(address), int(word))
	case writeRegister:
		if !c.write(int(address), []uint16{word}) {
			return q.exception(illegalAddress)
		}
		return q.pdu[:5]
	case writeHolding:
		if word < 1 || word > 123 || len(q.pdu) != 6+2*int(word) || int(q.pdu[5]) != 2*int(word) {
			return q.exception(illegalValue)
		}
		values := make([]uint16, word)
		for i := range values {
			values[i] = binary.BigEndian.Uint16(q.pdu[6+2*i:])
		}
		if !c.write(int(address), values) {
			return q.exception(illegalAddress)
		}
		return q.pdu[:5]
	}
	return q.exception(illegalFunction)
}

func (c *Controller) read(q request, address, count int) []byte {
	status := c.image
	if status == nil {
		status = c.program.status()
	}
	answer := []byte{readHolding, byte(2 * count)}
	for a := address; a < address+count; a++ {
		command, inStatus := a-int(c.o.Command), a-int(c.o.Status)
		switch {
		case command >= 0 && command < commandSize:
			answer = binary.BigEndian.AppendUint16(answer, c.command[command])
		case inStatus >= 0 && inStatus < c.size:
			answer = binary.BigEndian.AppendUint16(answer, status[inStatus])
		default:
			return q.exception(illegalAddress)
		}
	}
	return answer
}

// write changes all of the registers or none. Nobody but the controller writes its status.
func (c *Controller) write(address int, values []uint16) bool {
	at := address - int(c.o.Command)
	if at < 0 || at+len(values) > commandSize {
		return false
	}
	copy(c.command[at:], values)
	c.w.touch()
	if !c.held() {
		c.program.scan()
	}
	return true
}
