package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"surehand/internal/dbstate/read"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// stream shows the event log as it grows. A new client first gets a snapshot; one that comes back with the id of
// the last event it saw gets "resumed" and exactly what it missed, or "reset" and a snapshot when that cannot be.
func (s *server) stream(w http.ResponseWriter, r *http.Request) error {
	if err := queryOnly(r, "topics"); err != nil {
		return err
	}
	wanted, err := parseTopics(r.URL.Query().Get("topics"))
	if err != nil {
		return err
	}
	hub := s.o.Hub
	switch full, closed := hub.admit(); {
	case full:
		return busy("too_many_streams", 5, "Too many screens are connected. Close one, or share its stream.")
	case closed:
		return busy("stopping", 5, "The process is ending.")
	}
	defer hub.dismiss()
	opening, from, err := s.opening(r, wanted)
	if err != nil {
		return err
	}
	// A read deadline left by the server would end the stream as if the client had gone.
	if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	c := &client{topics: wanted}
	defer hub.leave(c)
	hub.transport.serve(w, r, func(conn connection, direct func(frame) error) error {
		c.connection = conn
		for _, f := range opening {
			if err := direct(f); err != nil {
				return err
			}
		}
		if err := s.catchUp(r.Context(), c, from, direct); err != nil {
			s.log.Info("a stream ended before it was live", "requestId", requestID(r), "error", err)
			return err
		}
		return nil
	})
	return nil
}

// opening is how a stream begins, and the position after which rows follow. It is read before anything is
// written, so that a database that is away is an ordinary answer.
func (s *server) opening(r *http.Request, wanted topics) ([]frame, position, error) {
	ctx, cancel := context.WithTimeout(r.Context(), readWithin)
	defer cancel()
	fence, err := s.o.Reader.Fence(ctx)
	if errors.Is(err, read.ErrNotFound) {
		return nil, position{}, busy("starting", 2, "The process has not started its event log yet.")
	}
	if err != nil {
		return nil, position{}, err
	}
	now := position{fence.Generation, fence.Seq}
	given := r.Header.Get("Last-Event-ID")
	if given == "" {
		snapshot, err := s.snapshot(ctx, fence, wanted)
		return []frame{snapshot}, now, err
	}
	last, reason, err := s.resumable(ctx, given, now)
	if err != nil {
		return nil, position{}, err
	}
	if reason == "" {
		return []frame{jsonFrame("resumed", resumedEvent{now.generation, now.seq, fence.Epoch, s.o.Hub.Links()})}, last, nil
	}
	snapshot, err := s.snapshot(ctx, fence, wanted)
	return []frame{jsonFrame("reset", resetEvent{reason, now.generation, now.seq}), snapshot}, now, err
}

// resumable tells whether the log can be followed on from the last event that a client saw; if not, why.
func (s *server) resumable(ctx context.Context, given string, now position) (last position, reason string, err error) {
	last, ok := parsePosition(given)
	switch {
	case !ok:
		return last, "malformed", nil
	case last.generation != now.generation:
		return last, "generation", nil
	case last.seq > now.seq:
		s.log.Error("a client has seen rows that the event log does not have: was an old backup restored?", "lastEventId", last.seq, "seq", now.seq)
		return last, "ahead", nil
	case now.seq-last.seq > maxBacklog:
		return last, "too_far", nil
	}
	_, _, err = s.o.Reader.LogAfter(ctx, last.generation, last.seq, 1)
	if errors.Is(err, read.ErrReset) { // rows in between were removed by retention
		return last, "trimmed", nil
	}
	return last, "", err
}

// snapshot is read after its fence: it may hold more than the fence says, never less, and the rows after the
// fence say the rest again. Open are the commands that may still move by themselves and those that hold their
// endpoint.
func (s *server) snapshot(ctx context.Context, fence plant.Fence, wanted topics) (frame, error) {
	live, err := s.o.Reader.Commands(ctx, read.CommandFilter{States: []term.CommandState{term.PendingDispatch, term.Dispatched, term.Acknowledged, term.Retrying}, Limit: maxLimit})
	if err != nil {
		return frame{}, err
	}
	holding, err := s.o.Reader.Commands(ctx, read.CommandFilter{OnlyHolding: true, Limit: maxLimit})
	if err != nil {
		return frame{}, err
	}
	open := slices.SortedFunc(slices.Values(append(live.Items, holding.Items...)), func(a, b *plant.Intent) int {
		return -cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Version, b.Version)) // the newer version of the two first
	})
	open = slices.CompactFunc(open, func(a, b *plant.Intent) bool { return a.ID == b.ID })
	shown := snapshotEvent{Generation: fence.Generation, Seq: fence.Seq, Epoch: fence.Epoch, Links: s.o.Hub.Links(),
		OpenCommands: convert(open, commandJSON), Truncated: live.Next != "" || holding.Next != ""}
	if err := s.snapshotOfCell(ctx, &shown, wanted); err != nil {
		return frame{}, err
	}
	f := jsonFrame("snapshot", shown)
	f.at = position{fence.Generation, fence.Seq}
	return f, nil
}

// catchUp writes the rows that a client missed: first up to now, so that little is left; then it joins the hub,
// and writes what came between. From there on the hub has every row.
func (s *server) catchUp(ctx context.Context, c *client, from position, direct func(frame) error) error {
	from, err := s.backlog(ctx, c, from, direct)
	if err != nil {
		return err
	}
	head, ok := s.o.Hub.join(c)
	if !ok || head.generation != "" && head.generation != from.generation {
		return errCut // it comes back and is told to reset
	}
	if from, err = s.backlog(ctx, c, from, direct); err != nil {
		return err
	}
	if from.seq < head.seq { // what the hub has shown is committed, so it is there to be read
		return errCut
	}
	return nil
}

// backlog writes every row after a position up to the newest, and returns the position reached.
func (s *server) backlog(ctx context.Context, c *client, from position, direct func(frame) error) (position, error) {
	for {
		page, now, err := s.logAfter(ctx, from)
		if err != nil {
			return from, err
		}
		for i := range page {
			from.seq = page[i].Seq
			if topicsOf(&page[i])&c.topics == 0 {
				continue
			}
			if err := direct(entryFrame(from.generation, &page[i])); err != nil {
				return from, err
			}
		}
		if from.seq >= now.Seq {
			return from, nil
		}
	}
}

func (s *server) logAfter(ctx context.Context, from position) ([]plant.Entry, plant.Fence, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	return s.o.Reader.LogAfter(ctx, from.generation, from.seq, logPage)
}
