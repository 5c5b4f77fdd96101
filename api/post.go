package api

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

const (
	defaultWait = 2 * time.Second
	maxWait     = 30 * time.Second

	// localActor is who writes: until there are users, whoever is on this machine.
	localActor = "local"

	keyHeader = "Idempotency-Key"
	maxKey    = 128
)

// posted is what became of a request to change something.
type posted struct {
	Outcome
	MessageID term.MessageID `json:"messageId"`
	// InProgress: the loop has not answered yet, or the command that it started has not come to rest. Ask
	// again with the same Idempotency-Key, or read the Location.
	InProgress bool     `json:"inProgress"`
	Command    *Command `json:"command,omitempty"`
}

// change posts one message and answers with its outcome. location is where to look while it is in progress;
// empty: the same request again.
func (s *server) change(w http.ResponseWriter, r *http.Request, p message.Payload, location string) error {
	wait := waitOf(r)
	ctx, cancel := context.WithTimeout(r.Context(), max(wait, s.decideWithin))
	defer cancel()
	w.Header().Set("Preference-Applied", "wait="+strconv.Itoa(int(wait/time.Second)))
	started := time.Now()
	m, answer, err := s.post(w, r, p)
	if err != nil {
		return err
	}
	select {
	case a := <-answer:
		if outcomeStatus(a.Outcome.Code) != http.StatusOK {
			return s.withCurrent(r.Context(), problemOfOutcome(a.Outcome), p)
		}
		done := posted{Outcome: outcomeJSON(a.Outcome), MessageID: m.ID}
		if _, isCommand := p.(message.SendCommand); isCommand && strings.HasPrefix(a.Outcome.Subject, intentSubject("")) {
			s.follow(r.Context(), &done, term.IntentID(a.Outcome.ID), wait-time.Since(started))
			location = commandPath(term.IntentID(a.Outcome.ID))
		}
		if done.InProgress {
			return s.inProgress(w, r, location, done)
		}
		s.answer(w, r, http.StatusOK, done)
		return nil
	case <-ctx.Done():
		// The message stays posted: it will be decided whether or not anybody waits for it.
		return s.inProgress(w, r, location, posted{MessageID: m.ID, InProgress: true})
	}
}

func (s *server) inProgress(w http.ResponseWriter, r *http.Request, location string, done posted) error {
	if location != "" {
		w.Header().Set("Location", location)
	}
	s.answer(w, r, http.StatusAccepted, done)
	return nil
}

// follow waits until a command has come to rest, or for so long. That its state cannot be read is no reason to
// call the accepted request a failure.
func (s *server) follow(ctx context.Context, done *posted, id term.IntentID, wait time.Duration) {
	done.InProgress = true
	news, leave := s.o.Hub.watch(id)
	defer leave()
	command, err := s.o.Reader.Command(ctx, id) // after watch, so that no end falls between the two
	if err != nil {
		s.log.Warn("an accepted command cannot be shown", "commandIntentId", id, "error", err)
		return
	}
	timer := time.NewTimer(max(wait, 0))
	defer timer.Stop()
	for {
		shown := commandJSON(command)
		done.Command, done.State = &shown, string(command.State)
		if command.State.Ended() || command.State == term.Uncertain {
			done.InProgress = false
			return
		}
		select {
		case newer := <-news:
			if newer.Version > command.Version {
				command = newer
			}
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// post puts a message of a person into the inbox. The message's id is derived from who asks, what route and
// which key, so that the same request again is the same message: the loop answers it with the stored outcome.
func (s *server) post(w http.ResponseWriter, r *http.Request, p message.Payload) (message.Message, <-chan message.Answer, error) {
	key, err := keyOf(r)
	if err != nil {
		return message.Message{}, nil, err
	}
	w.Header().Set(keyHeader, key)
	text := term.JSON(p)
	if hasNUL(text) {
		return message.Message{}, nil, invalid("", "a text has a NUL character, which the database cannot keep")
	}
	switch h := s.o.Health(); {
	case !h.Opened:
		return message.Message{}, nil, busy("starting", 2, "The process is starting; the database has not confirmed it yet. Nothing was done.")
	case h.DatabaseAway:
		return message.Message{}, nil, busy("database_away", 2, "The database is away, so nothing can be decided. Nothing was done; try again when it is back.")
	}
	reply := make(chan message.Answer, 1)
	m := message.Message{
		ID: messageID(localActor, r.Method, chi.RouteContext(r.Context()).RoutePattern(), key), Source: message.FromPerson,
		Actor: localActor, Payload: p, Reply: reply, CreatedAt: s.o.Now(), BodyHash: plant.Hash(p.Type(), text),
	}
	if !s.o.Post(m) {
		return message.Message{}, nil, busy("inbox_full", 1, "Too many requests are waiting, or the process is ending. Nothing was done; try again.")
	}
	return m, reply, nil
}

// messageID carries no time: the same request an hour later is still the same request.
func messageID(actor, method, route, key string) term.MessageID {
	return term.MessageID(plant.DerivedID(time.Time{}, "http", actor, method, route, key))
}

// keyOf is the request's idempotency key. A request without one gets one, and learns it from the answer.
func keyOf(r *http.Request) (string, error) {
	given := r.Header.Values(keyHeader)
	if len(given) == 0 {
		return rand.Text(), nil
	}
	key := given[0]
	ok := len(given) == 1 && key != "" && len(key) <= maxKey
	for i := 0; ok && i < len(key); i++ {
		ok = key[i] > ' ' && key[i] < 0x7f
	}
	if !ok {
		return "", problem(http.StatusBadRequest, "bad_idempotency_key", "%s is 1 to %d visible ASCII characters, once.", keyHeader, maxKey)
	}
	return key, nil
}

// waitOf reads "Prefer: wait=n" (RFC 7240), in seconds from 0 to 30. A preference that cannot be met is no
// fault of the request: it is bounded or passed over.
func waitOf(r *http.Request) time.Duration {
	for _, line := range r.Header.Values("Prefer") {
		for part := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(part, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			if n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 32); err == nil {
				return min(time.Duration(n)*time.Second, maxWait)
			}
		}
	}
	return defaultWait
}

func intentSubject(id term.IntentID) string { return fmt.Sprintf("intent:%s", id) }
