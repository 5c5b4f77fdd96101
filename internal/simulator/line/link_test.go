package line

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/simonvetter/modbus"
)

// What one write of go = 1 leads to under one fault of the link: what its writer hears, and whether the robot begins.
func TestLinkFaults(t *testing.T) {
	timedOut := modbus.ErrRequestTimedOut
	for _, c := range []struct {
		name   string
		faults LinkFaults
		err    error // nil: none; errAny: any
		begun  int
		late   bool // begins only after the writer has given up
	}{
		{"none", LinkFaults{}, nil, 1, false},
		{"silent", LinkFaults{DropRequest: 1}, timedOut, 0, false},
		{"write lost", LinkFaults{DropWrite: 1}, timedOut, 0, false},
		{"write late", LinkFaults{LateWrite: 1, LateWriteBy: 2 * impatience}, timedOut, 1, true},
		{"busy", LinkFaults{Busy: 1}, modbus.ErrServerDeviceBusy, 0, false},
		{"answer lost", LinkFaults{LoseAnswer: 1}, timedOut, 1, false},
		{"write's answer lost", LinkFaults{LoseWriteAnswer: 1}, timedOut, 1, false},
		{"go's answer lost", LinkFaults{LoseGoAnswer: 1}, timedOut, 1, false},
		{"answer late", LinkFaults{LateAnswer: 1, LateAnswerBy: 2 * impatience}, timedOut, 1, false},
		{"connection closed", LinkFaults{HangUp: 1}, errAny, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := cell(t, nil)
			put(t, w, "a@1")
			r := w.Robot()
			p := dial(t, &r.Controller, patience)
			p.prepare(1, 1, 1, 40)
			timeout := impatience
			if c.err == nil || errors.Is(c.err, modbus.ErrServerDeviceBusy) {
				timeout = patience // here an answer must come
			}
			c.faults.Strikes = 1
			hasty := dial(t, &r.Controller, timeout)
			r.SetLinkFaults(c.faults)
			err := hasty.WriteRegister(5, 1)
			if !errors.Is(err, c.err) && !(c.err == errAny && err != nil) {
				t.Fatalf("writer heard %v, want %v", err, c.err)
			}
			if c.late {
				// The client has gone; its write has not.
				hasty.Close()
			}
			if c.begun == 1 {
				await(t, w, "begun", func(t Truth) bool { return t.Executed[1] == 1 })
				p.settled()
			}
			equal(t, "begun and go", []any{w.Truth().Executed[1], p.registers(5, 1)[0]}, []any{c.begun, uint16(c.begun)})
			struck := 0
			for _, n := range w.Truth().Faults {
				struck += n
			}
			equal(t, "strikes", struck == 1, c.err != nil)
		})
	}
}

var errAny = errors.New("any error")

// A late answer does not spoil the next: the client tells them apart.
func TestLateAnswerIsOvertaken(t *testing.T) {
	w := cell(t, nil)
	r := w.Robot()
	p := dial(t, &r.Controller, impatience)
	r.SetLinkFaults(LinkFaults{LateAnswer: 1, LateAnswerBy: 5 * impatience, Strikes: 1})
	if _, err := p.ReadRegister(0, modbus.HOLDING_REGISTER); !errors.Is(err, modbus.ErrRequestTimedOut) {
		t.Fatal(err)
	}
	giveUp := time.Now().Add(patience)
	for {
		got, err := p.ReadRegisters(100, 10, modbus.HOLDING_REGISTER)
		if err == nil {
			equal(t, "status", len(got), 10)
			return
		}
		if time.Now().After(giveUp) {
			t.Fatal(err)
		}
	}
}

func TestCutAndRestore(t *testing.T) {
	w := cell(t, nil)
	put(t, w, "a@40")
	m := w.Machine("mill")
	m.SetFaults(MachineFaults{NeverFinish: 1})
	p := dial(t, &m.Controller, patience)
	p.command(1, 1, 7)
	for range 2 {
		address := m.Address()
		m.Cut()
		m.Cut()
		if _, err := p.ReadRegister(0, modbus.HOLDING_REGISTER); err == nil {
			t.Fatal("read over a cut link")
		}
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Fatal("connected to a cut endpoint")
		}
		if err := errors.Join(m.Restore(), m.Restore()); err != nil {
			t.Fatal(err)
		}
		equal(t, "same port", m.Address(), address)
		p = dial(t, &m.Controller, patience)
		equal(t, "the program went on", p.status()[2:4], []uint16{2, 1})
	}
	m.Finish(1)
	equal(t, "done", p.untilDone()[4], uint16(1))
}

// What a Modbus server must refuse. Nothing of a refused write is done.
func TestModbusExceptions(t *testing.T) {
	w := cell(t, func(o *Options) {
		o.Robot.Modbus.Command, o.Robot.Modbus.Status = 100, 106 // side by side
	})
	p := dial(t, &w.Robot().Controller, patience)
	read := func(address, count uint16) error {
		_, err := p.ReadRegisters(address, count, modbus.HOLDING_REGISTER)
		return err
	}
	other := dial(t, &w.Robot().Controller, patience)
	if err := other.SetUnitId(2); err != nil {
		t.Fatal(err)
	}
	_, wrongUnit := other.ReadRegister(100, modbus.HOLDING_REGISTER)
	_, input := p.ReadRegister(100, modbus.INPUT_REGISTER)
	for _, c := range []struct {
		name      string
		got, want error
	}{
		{"both blocks in one request", read(100, 16), nil},
		{"beyond the blocks", read(100, 17), modbus.ErrIllegalDataAddress},
		{"before the blocks", read(99, 2), modbus.ErrIllegalDataAddress},
		{"write the status", p.WriteRegister(106, 1), modbus.ErrIllegalDataAddress},
		{"write over the edge", p.WriteRegisters(105, []uint16{1, 1}), modbus.ErrIllegalDataAddress},
		{"input registers", input, modbus.ErrIllegalFunction},
		{"coils", p.WriteCoil(100, true), modbus.ErrIllegalFunction},
		{"another unit", wrongUnit, modbus.ErrGWTargetFailedToRespond},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	equal(t, "go was not written", p.registers(105, 1)[0], uint16(0))
}

// Bytes that are not Modbus, and more connections than there are.
func TestStrangersAtThePort(t *testing.T) {
	w := cell(t, nil)
	address := w.Robot().Address()
	closed := func(send string) {
		t.Helper()
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, _ = conn.Write([]byte(send))
		var b [1]byte
		if n, err := conn.Read(b[:]); n > 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("after %q: %d bytes, %v", send, n, err)
		}
	}
	closed("GET / HTTP/1.1\r\n\r\n")
	closed("\x00\x01\x00\x00\x00\x01\x01")
	closed("\x00\x01\x00\x00\xff\xff\x01\x03")
	for range maxConnections {
		dial(t, &w.Robot().Controller, patience).status()
	}
	closed("")
}
