package plant_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// A row changed twice in a turn is one write: first before, last after. A row made and changed is an insert.
func TestFold(t *testing.T) {
	i := lawful(term.Dispatched)
	s, w := begin(t, i)
	tx := w.Tx()
	acked := tx.MarkAcknowledged(i, term.Mark{}, 1)
	w.Keep(tx, plant.Entry{MessageID: "1"})
	tx = w.Tx()
	tx.MarkFailed(acked, "x")
	made := tx.CreateIntent(plant.Intent{ID: "new", EndpointID: "e", Action: term.ActionAbsolute, MaxAttempts: 1, DeadlineAt: now})
	tx.MarkFailed(made, "y")
	w.Keep(tx, plant.Entry{MessageID: "2"})
	b := w.Batch()
	require.Len(t, b.Changes, 2)
	require.Same(t, i, b.Changes[0].Before)
	require.EqualValues(t, 5, b.Changes[0].After.Ver())
	require.Equal(t, term.Failed, b.Changes[0].After.(*plant.Intent).State)
	require.Nil(t, b.Changes[1].Before)
	require.Equal(t, s.Fence().Seq+2, b.After.Seq)
	require.Equal(t, s.Fence().Turn+1, b.After.Turn)
	require.Equal(t, []string{"MarkAcknowledged"}, moves(b.Entries[0]))
	require.Equal(t, []string{"MarkFailed", "CreateIntent", "MarkFailed"}, moves(b.Entries[1]))
}

func moves(e plant.Entry) (out []string) {
	for _, n := range e.Notes {
		out = append(out, n.Move)
	}
	return out
}

// A refused message leaves nothing but what was received; a rolled back turn leaves nothing at all.
func TestDropKeepsReceipts(t *testing.T) {
	i := lawful(term.Dispatched)
	s, w := begin(t, i)
	before := s.Rows()
	tx := w.Tx()
	tx.FenceIfFree(tx.CreateIntent(plant.Intent{ID: "new", EndpointID: "free", Action: term.ActionAbsolute, MaxAttempts: 1, DeadlineAt: now}),
		plant.Send{CommandID: "c"})
	tx.RecordReceipt(plant.Receipt{IntentID: "new", Type: term.ReceiptAck, Correlation: term.CorrelationTimely})
	tx.RecordReceipt(plant.Receipt{IntentID: i.ID, Type: term.ReceiptAck, Correlation: term.CorrelationTimely})
	w.Drop(tx)
	w.Keep(tx, plant.Entry{MessageID: "1", Outcome: "refused"})
	require.Equal(t, before, s.Rows())
	b := w.Batch()
	require.Len(t, b.Changes, 2)
	require.Empty(t, b.Changes[0].After.(*plant.Receipt).IntentID, "its intent was dropped")
	require.Equal(t, i.ID, b.Changes[1].After.(*plant.Receipt).IntentID)
	_, actions := w.Accept(b)
	require.Empty(t, actions, "what was dropped is not sent")

	w = s.Begin(now, &counter{n: 500}, plant.NewSession(), nil, nil)
	tx = w.Tx()
	tx.MarkFailed(i, "x")
	w.Rollback()
	require.Equal(t, before, s.Rows())
	require.True(t, w.Empty())
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{"ok": "ok", "a\x00b": "a\uFFFDb", "a\xffb": "a\uFFFDb", "Nhà 温室": "Nhà 温室"} {
		require.Equal(t, want, plant.Printable(in))
	}
	require.LessOrEqual(t, len(plant.Printable(strings.Repeat("温", 1000))), plant.MaxTextBytes)
}
