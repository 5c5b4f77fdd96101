package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"surehand/internal/dbstate/read"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// openQuestions reads all open ones; the loop has as many as there are things that can be asked about.
func (s *server) openQuestions(ctx context.Context) ([]*plant.Question, error) {
	var all []*plant.Question
	f := read.QuestionFilter{OnlyOpen: true, Limit: maxLimit}
	for {
		page, err := s.o.Reader.Questions(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if f.Cursor = page.Next; f.Cursor == "" {
			return all, nil
		}
	}
}

// listManualActions lists the open questions, with all=true also those that were answered.
func (s *server) listManualActions(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "all", "subject", "job", "cursor", "limit")
	f := read.QuestionFilter{OnlyOpen: !q.flag("all"), Subject: q.text("subject"), Job: term.JobID(q.text("job")), Cursor: q.text("cursor"), Limit: q.limit()}
	if q.fault != nil {
		return q.fault
	}
	page, err := s.o.Reader.Questions(r.Context(), f)
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, listOf(page, questionJSON))
	return nil
}

func (s *server) showManualAction(w http.ResponseWriter, r *http.Request) error {
	id, err := uuidParam(r)
	if err != nil {
		return err
	}
	q, err := s.o.Reader.Question(r.Context(), term.QuestionID(id))
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, questionJSON(q))
	return nil
}

// answerManualAction answers a question as the person saw it: when it has changed since, nothing is done and the
// question is shown as it is now.
func (s *server) answerManualAction(w http.ResponseWriter, r *http.Request) error {
	id, err := uuidParam(r)
	if err != nil {
		return err
	}
	var in AnswerRequest
	if err := s.readJSON(w, r, false, &in); err != nil {
		return err
	}
	switch {
	case in.Version < 1:
		return invalid("/version", "the version that was shown, from 1")
	case in.Hash == "" || len(in.Hash) > maxWord:
		return invalid("/hash", "the hash that was shown")
	case in.Answer == "" || len(in.Answer) > maxWord:
		return invalid("/answer", "the word of one of the answers that were shown")
	}
	if err := reasonGiven(in.Reason); err != nil {
		return err
	}
	return s.change(w, r, message.ResolveManualAction{Question: term.QuestionID(id), Version: in.Version, Hash: in.Hash, Answer: in.Answer, Reason: in.Reason},
		Root+"/manual-actions/"+url.PathEscape(id))
}

// maxWord bounds a hash and the word of an answer.
const maxWord = 128

// reasonChanged is the loop's word on an answer to a question that has changed since it was shown.
const reasonChanged = "changed"

// withCurrent adds to a refused answer the question as it is now, so that the person can look again.
func (s *server) withCurrent(ctx context.Context, p *Problem, posted message.Payload) *Problem {
	answered, is := posted.(message.ResolveManualAction)
	if !is || p.Code != reasonChanged {
		return p
	}
	id := answered.Question
	if named := strings.TrimPrefix(p.Subject, plant.QuestionSubject("")); uuid(named) {
		id = term.QuestionID(named)
	}
	q, err := s.o.Reader.Question(ctx, id)
	if err != nil {
		s.log.Warn("a changed question cannot be shown", "question", id, "error", err)
		return p
	}
	shown := questionJSON(q)
	p.Current = &shown
	return p
}

// listAlarms lists the alarms that are not normal, shelved ones included; with all=true the history too.
func (s *server) listAlarms(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "all", "subject", "cursor", "limit")
	f := read.AlarmFilter{OnlyOpen: !q.flag("all"), Subject: q.text("subject"), Cursor: q.text("cursor"), Limit: q.limit()}
	if q.fault != nil {
		return q.fault
	}
	page, err := s.o.Reader.Alarms(r.Context(), f)
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, listOf(page, alarmJSON))
	return nil
}

func (s *server) acknowledgeAlarm(w http.ResponseWriter, r *http.Request) error {
	id, err := uuidParam(r)
	if err != nil {
		return err
	}
	return s.plainly(message.AckAlarm{Alarm: term.AlarmID(id)}, Root+"/alarms")(w, r)
}

// Bounds of a shelving.
const (
	minShelf = time.Minute
	maxShelf = 24 * time.Hour
)

func (s *server) shelveAlarm(w http.ResponseWriter, r *http.Request) error {
	id, err := uuidParam(r)
	if err != nil {
		return err
	}
	var in ShelveRequest
	if err := s.readJSON(w, r, false, &in); err != nil {
		return err
	}
	if d := time.Duration(in.For); d != 0 && (d < minShelf || d > maxShelf) {
		return invalid("/for", "1m to 24h, or 0s to bring it back")
	}
	if err := reasonGiven(in.Reason); err != nil {
		return err
	}
	return s.change(w, r, message.ShelveAlarm{Alarm: term.AlarmID(id), For: in.For, Reason: in.Reason}, Root+"/alarms")
}
