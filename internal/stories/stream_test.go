package stories

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stream is a client of /api/v1/stream.
type stream struct {
	t      testing.TB
	frames chan frame // closed when the server is gone
}

// frame is one event of the stream, as it came.
type frame struct{ id, event, data string }

// seq is the place in the event log that the frame's id names.
func (f frame) seq(t testing.TB) int64 {
	t.Helper()
	_, text, _ := strings.Cut(f.id, ":")
	seq, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err, "id %q of %s", f.id, f.event)
	return seq
}

// streams is a client that does not wait for an answer for ever, but lets a stream go on.
var streams = http.Client{Transport: &http.Transport{ResponseHeaderTimeout: patience}}

// follow opens the stream, after the event with this id when it is not empty.
func (s *site) follow(lastEventID string) *stream {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Listen+"/api/v1/stream", nil)
	require.NoError(s.t, err)
	r.Header.Set("Accept", "text/event-stream")
	if lastEventID != "" {
		r.Header.Set("Last-Event-ID", lastEventID)
	}
	response, err := streams.Do(r)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, response.StatusCode)
	st := &stream{t: s.t, frames: make(chan frame, 4096)}
	go func() {
		defer close(st.frames)
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		var f frame
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "id":
				f.id = value
			case "event":
				f.event = value
			case "data":
				f.data += value
			}
			if lines.Text() == "" && f != (frame{}) { // a half frame of a killed process is none
				st.frames <- f
				f = frame{}
			}
		}
	}()
	return st
}

// next is the next frame that is not about the moment only.
func (st *stream) next() frame {
	st.t.Helper()
	f, more := st.take()
	require.True(st.t, more, "the stream ended")
	return f
}

func (st *stream) take() (frame, bool) {
	st.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case f, more := <-st.frames:
			switch f.event {
			case "heartbeat", "links", "values":
				continue
			}
			return f, more
		case <-late.C:
			st.t.Fatalf("nothing came on the stream within %s", patience)
		}
	}
}

// rowsUntil gives the rows of the log up to the one in which a command made this move.
func (st *stream) rowsUntil(move string) (rows []frame) {
	st.t.Helper()
	for {
		f := st.next()
		require.Equal(st.t, "log", f.event)
		rows = append(rows, f)
		if strings.Contains(f.data, `"move":"`+move+`"`) {
			return rows
		}
	}
}

// rowsUntilCut gives what had come before the server was gone.
func (st *stream) rowsUntilCut() (rows []frame) {
	st.t.Helper()
	for {
		f, more := st.take()
		if !more {
			return rows
		}
		require.Equal(st.t, "log", f.event)
		rows = append(rows, f)
	}
}
