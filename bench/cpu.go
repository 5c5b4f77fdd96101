package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

const rusageThread = 1 // RUSAGE_THREAD of Linux

func processCPU() (time.Duration, error) { return usage(syscall.RUSAGE_SELF) }
func threadCPU() (time.Duration, error)  { return usage(rusageThread) }

func usage(who int) (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// backendCPU is user and system time of one process, in steps of a clock tick (10 ms on Linux).
func backendCPU(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // the name may hold spaces; utime is field 14
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat is too short", pid)
	}
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100), nil
}

// goCPU: CPU of this process a message, garbage collection included and the generator's thread left out,
// against CPU of the loop's backend. Writing and syncing WAL in PostgreSQL's own background is in neither.
func goCPU(ctx context.Context, s *site) (round, error) {
	h, err := s.house(ctx, "full", fullHouse)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (float64, float64, error) {
		m, err := h.flood(ctx, fullHouse.valves, s.options.window())
		if err != nil {
			return 0, 0, err
		}
		s.note("%s", m)
		each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(m.messages) }
		return each(m.process - m.generator), each(m.postgres), nil
	}, nil
}
