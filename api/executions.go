package api

import (
	"net/http"
	"time"

	"surehand/internal/dbstate/read"
	"surehand/internal/term"
)

func (s *server) listExecutions(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "rule", "farm", "outcome", "cursor", "limit")
	f := read.ExecutionFilter{Rule: term.RuleID(q.text("rule")), Farm: term.FarmID(q.text("farm")),
		Outcome: word[term.ExecutionOutcome](q, "outcome"), Cursor: q.text("cursor"), Limit: q.limit()}
	if q.fault != nil {
		return q.fault
	}
	page, err := s.o.Reader.Executions(r.Context(), f)
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, listOf(page, executionJSON))
	return nil
}

func (s *server) showExecution(w http.ResponseWriter, r *http.Request) error {
	id, err := uuidParam(r)
	if err != nil {
		return err
	}
	x, err := s.o.Reader.Execution(r.Context(), term.ExecutionID(id))
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, executionJSON(x))
	return nil
}

// executionTimeline answers why a command exists, or why it does not.
func (s *server) executionTimeline(w http.ResponseWriter, r *http.Request) error {
	id, err := uuidParam(r)
	if err != nil {
		return err
	}
	story, err := s.o.Reader.ExecutionTimeline(r.Context(), term.ExecutionID(id))
	if err != nil {
		return err
	}
	out := ExecutionTimeline{Execution: executionJSON(story.Execution), Items: convert(story.Timeline, timelineJSON)}
	if story.Event != nil {
		e := eventJSON(story.Event)
		out.Event = &e
	}
	if story.Command != nil {
		c := commandJSON(story.Command)
		out.Command = &c
	}
	s.answer(w, r, http.StatusOK, out)
	return nil
}

// topTimeouts lists where devices answered too late most often, in the last day unless said otherwise.
func (s *server) topTimeouts(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "since", "limit")
	since, limit := q.time("since"), q.limit()
	if q.fault != nil {
		return q.fault
	}
	if since.IsZero() {
		since = s.o.Now().Add(-24 * time.Hour)
	}
	list, err := s.o.Reader.TopTimeouts(r.Context(), since, limit)
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, List[Timeouts]{Items: convert(list, timeoutsJSON)})
	return nil
}
