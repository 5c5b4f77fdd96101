package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

const (
	hand   = "/api/v1/commands"
	onBody = `{"endpoint":"fan/on","value":true}`
)

func TestOutcomesBecomeStatusCodes(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome message.Outcome
		status  int
		code    string // of the problem; empty: an answer
	}{
		{"accepted", message.Outcome{Code: message.Accepted, Subject: "execution:x", ID: "x", Seq: 9}, 200, ""},
		{"already decided", message.Outcome{Code: message.Noted}, 200, ""},
		{"noted", message.Outcome{Code: message.Noted}, 200, ""},
		{"ignored", message.Outcome{Code: message.Ignored}, 200, ""},
		{"refused by a gate", message.Outcome{Code: message.Refused, Reason: "device_maintenance", Detail: "in maintenance", State: "maintenance", Seq: 9}, 409, "device_maintenance"},
		{"refused by nothing known", message.Outcome{Code: message.Refused}, 409, "refused"},
		{"another body", message.Outcome{Code: message.Conflict, Reason: "other_body"}, 409, "idempotency_conflict"},
		{"not found", message.Outcome{Code: message.NotFound, Reason: "unknown_endpoint"}, 404, "unknown_endpoint"},
		{"invalid", message.Outcome{Code: message.Invalid, Reason: "invalid_value", Problems: []message.Problem{{Pointer: "/value", Detail: "above 5"}}}, 422, "invalid"},
		{"parked", message.Outcome{Code: message.Parked, Reason: "panic: secret"}, 500, "parked"},
		{"a word that nobody knows", message.Outcome{Code: "odd"}, 500, "odd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.loop.answer = func(message.Message) *message.Outcome { return &c.outcome }
			w := b.ask(http.MethodPost, hand, onBody)
			require.NotContains(t, w.Body.String(), "secret")
			if c.code == "" {
				require.Equal(t, c.status, w.Code)
				got := decoded[posted](t, w.Body)
				require.Equal(t, outcomeJSON(c.outcome), got.Outcome)
				require.Equal(t, b.loop.last(t).ID, got.MessageID)
				return
			}
			p := requireProblem(t, w, c.status, c.code)
			require.Equal(t, c.outcome.Problems, p.Problems)
			require.Equal(t, c.outcome.State, p.State)
			require.Equal(t, c.outcome.Seq, p.Seq)
		})
	}
}

func TestWhatCannotBeTakenNow(t *testing.T) {
	for name, set := range map[string]func(*fakeLoop){
		"inbox_full":    func(l *fakeLoop) { l.full = true },
		"database_away": func(l *fakeLoop) { l.health.DatabaseAway = true },
		"starting":      func(l *fakeLoop) { l.health = Health{} },
	} {
		b := newBench(t)
		set(b.loop)
		w := b.ask(http.MethodPost, hand, onBody)
		requireProblem(t, w, http.StatusServiceUnavailable, name)
		require.NotEmpty(t, w.Header().Get("Retry-After"))
		require.Empty(t, b.loop.posted)
	}
}

func TestNoWordFromTheLoopIsInProgress(t *testing.T) {
	b := newBench(t)
	b.decideWithin = 0
	b.loop.answer = nil
	for path, location := range map[string]string{
		hand: "", hand + "/" + idA + "/cancel": hand + "/" + idA, "/api/v1/system/stop": "/api/v1/system"} {
		body := onBody
		if path != hand {
			body = "{}"
		}
		w := b.ask(http.MethodPost, path, body, header("Prefer", "wait=0"))
		require.Equal(t, http.StatusAccepted, w.Code, w.Body.String())
		require.Equal(t, location, w.Header().Get("Location"))
		require.Equal(t, "wait=0", w.Header().Get("Preference-Applied"))
		require.Equal(t, posted{MessageID: b.loop.last(t).ID, InProgress: true}, decoded[posted](t, w.Body))
	}
}

func acceptedCommand(message.Message) *message.Outcome {
	return &message.Outcome{Code: message.Accepted, Subject: "intent:" + idA, ID: idA, State: "pending_dispatch", Seq: 3}
}

func TestAnAcceptedCommandIsFollowedToItsRest(t *testing.T) {
	t.Run("it rests already", func(t *testing.T) {
		b := newBench(t)
		b.loop.answer = acceptedCommand
		b.reader.command.State = term.Uncertain
		w := b.ask(http.MethodPost, hand, onBody, header("Prefer", "wait=0"))
		require.Equal(t, http.StatusOK, w.Code)
		got := decoded[posted](t, w.Body)
		require.Equal(t, "uncertain", got.State)
		require.False(t, got.InProgress)
	})
	t.Run("it is still under way", func(t *testing.T) {
		b := newBench(t)
		b.loop.answer = acceptedCommand
		w := b.ask(http.MethodPost, hand, onBody, header("Prefer", "wait=0"))
		require.Equal(t, http.StatusAccepted, w.Code)
		require.Equal(t, hand+"/"+idA, w.Header().Get("Location"))
		got := decoded[posted](t, w.Body)
		require.True(t, got.InProgress)
		require.Equal(t, "dispatched", got.State)
		require.EqualValues(t, 3, got.Command.Version)
	})
	t.Run("it comes to rest while it is waited for", func(t *testing.T) {
		b := newBench(t)
		b.loop.answer = func(m message.Message) *message.Outcome {
			go func() { // the loop shows the end some time after it answered; until somebody watches, there is nobody to tell
				applied := b.reader.command
				applied.Version, applied.State = 4, term.Applied
				stale := b.reader.command
				stale.Version, stale.State = 2, term.Failed
				for !b.Hub().watched(idA) {
					runtime.Gosched()
				}
				b.Hub().take(context.Background(), plant.Committed{Fence: b.reader.fence, Changes: []plant.Change{{After: &stale}}})
				b.Hub().take(context.Background(), plant.Committed{Fence: b.reader.fence, Changes: []plant.Change{{After: &applied}}})
			}()
			return acceptedCommand(m)
		}
		w := b.ask(http.MethodPost, hand, onBody, header("Prefer", "wait=30"))
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "applied", decoded[posted](t, w.Body).State)
		require.False(t, b.Hub().watched(idA), "nobody watches any more")
	})
	t.Run("it cannot be read", func(t *testing.T) {
		b := newBench(t)
		b.loop.answer = acceptedCommand
		b.reader.err = context.DeadlineExceeded
		w := b.ask(http.MethodPost, hand, onBody)
		require.Equal(t, http.StatusAccepted, w.Code, "it was accepted all the same")
		require.Equal(t, "pending_dispatch", decoded[posted](t, w.Body).State)
	})
}

func (h *Hub) watched(id term.IntentID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers[id]) > 0
}

func TestPreferWait(t *testing.T) {
	for value, want := range map[string]time.Duration{"": defaultWait, "wait=0": 0, "wait=7": 7 * time.Second, "WAIT = 3": 3 * time.Second,
		"wait=31": maxWait, "wait=99999999999": defaultWait, "wait=-1": defaultWait, "wait=x": defaultWait, "respond-async, wait=1": time.Second} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Prefer", value)
		require.Equal(t, want, waitOf(r), value)
	}
}

func TestTheSameRequestIsTheSameMessage(t *testing.T) {
	b := newBench(t)
	post := func(path, body, key string) message.Message {
		w := b.ask(http.MethodPost, path, body, header(keyHeader, key))
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.Equal(t, key, w.Header().Get(keyHeader))
		return b.loop.last(t)
	}
	first := post(hand, onBody, "k1")
	again := post(hand, ` { "value" : true , "reason":"", "endpoint":"fan/on" } `, "k1")
	require.Equal(t, first.ID, again.ID)
	require.Equal(t, first.BodyHash, again.BodyHash, "spelling is no difference")
	require.Equal(t, messageID("local", "POST", "/api/v1/commands", "k1"), first.ID)
	require.True(t, uuid(string(first.ID)))

	other := post(hand, `{"endpoint":"fan/on","value":false}`, "k1")
	require.Equal(t, first.ID, other.ID)
	require.NotEqual(t, first.BodyHash, other.BodyHash, "the loop sees a conflict")

	seen := map[term.MessageID]bool{first.ID: true}
	for _, id := range []term.MessageID{post(hand, onBody, "k2").ID, post(hand+"/"+idA+"/cancel", `{}`, "k1").ID,
		messageID("other", "POST", "/api/v1/commands", "k1"), messageID("local", "PUT", "/api/v1/commands", "k1")} {
		require.False(t, seen[id])
		seen[id] = true
	}
	one, two := post(hand+"/"+idA+"/cancel", `{}`, "k3"), post(hand+"/"+idB+"/cancel", `{}`, "k3")
	require.Equal(t, one.ID, two.ID)
	require.NotEqual(t, one.BodyHash, two.BodyHash, "a key belongs to one command")
}

func TestAKeyIsMadeWhenNoneIsGiven(t *testing.T) {
	b := newBench(t)
	one, two := b.ask(http.MethodPost, hand, onBody), b.ask(http.MethodPost, hand, onBody)
	require.NotEmpty(t, one.Header().Get(keyHeader))
	require.NotEqual(t, one.Header().Get(keyHeader), two.Header().Get(keyHeader))
	require.Equal(t, messageID("local", "POST", hand, two.Header().Get(keyHeader)), b.loop.last(t).ID)
	for _, key := range []string{"", "with space", "tab\t", "ü", strings.Repeat("k", maxKey+1)} {
		requireProblem(t, b.ask(http.MethodPost, hand, onBody, header(keyHeader, key)), http.StatusBadRequest, "bad_idempotency_key")
	}
	twice := func(r *http.Request) { r.Header[keyHeader] = []string{"a", "b"} }
	requireProblem(t, b.ask(http.MethodPost, hand, onBody, twice), http.StatusBadRequest, "bad_idempotency_key")
}
