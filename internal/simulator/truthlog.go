package simulator

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// TruthLog is a file of events as JSON lines, one write call each, so that a killed process leaves at most one torn
// line behind. Devices of a fleet share one.
type TruthLog struct {
	mu   sync.Mutex
	file *os.File
	err  error
}

// OpenTruthLog opens the file for appending and creates it if need be.
func OpenTruthLog(path string) (*TruthLog, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	l := &TruthLog{file: file}
	if err := l.endTornLine(); err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

// endTornLine closes a line that a killed process left half written, so that the next event starts its own.
func (l *TruthLog) endTornLine() error {
	info, err := l.file.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := l.file.ReadAt(last, info.Size()-1); err != nil {
		return err
	}
	if last[0] != '\n' {
		_, err = l.file.Write([]byte("\n"))
	}
	return err
}

func (l *TruthLog) append(e Event) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	_, l.err = l.file.Write(append(encode(e), '\n'))
}

// Err returns the first write that failed; the log is silent after it, and its truth is no longer whole.
func (l *TruthLog) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close closes the file. It returns an earlier write error too.
func (l *TruthLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	earlier := l.err
	l.err = os.ErrClosed
	return errors.Join(earlier, l.file.Close())
}

// ReadTruthLog sums up a log into one Truth per serial, without any bound.
func ReadTruthLog(path string) (map[string]Truth, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	sums := map[string]*Truth{}
	lines := bufio.NewReader(file)
	torn := 0
	for n := 1; ; n++ {
		line, readErr := lines.ReadBytes('\n')
		if len(line) > 1 {
			var e Event
			if err := json.Unmarshal(line, &e); err != nil {
				// A kill tears one line at most; more than a handful means that this is not a truth log.
				if torn++; torn > 16 {
					return nil, fmt.Errorf("%s line %d: %w", path, n, err)
				}
			} else {
				if sums[e.Serial] == nil {
					sums[e.Serial] = newTruth(e.Serial)
				}
				sums[e.Serial].add(e)
			}
		}
		if errors.Is(readErr, io.EOF) {
			break
		}
		if readErr != nil {
			return nil, readErr
		}
	}
	out := make(map[string]Truth, len(sums))
	for serial, t := range sums {
		out[serial] = *t
	}
	return out, nil
}
