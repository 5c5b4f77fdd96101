package automation

import (
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// weighEvidence holds a fresh, strictly newer observation of an endpoint against the command that holds it.
// before is what was known, after what is known now; timed: the sample carries a time of the device's own.
//
// Strong: sampled after the fence by the device's own clock and after the ack by its own count (boot id and seq);
// the count alone is not enough, because readings may lag behind answers. Weak: two equal samples received
// since the ack or, without one, since the fence, and not sampled before the fence by the device's own clock.
// A value that still differs inside the window is no contradiction: valves are slow.
func weighEvidence(tx *plant.Tx, before, after *plant.Endpoint, spec *term.EndpointSpec, timed bool) {
	i, held := tx.State().Holder(after.ID)
	if !held || i.Action != term.ActionAbsolute || neverLeft(i) {
		return
	}
	if d, ok := tx.State().Device(after.DeviceID); (!ok || d.Serial != i.Serial) && i.State != term.Expired {
		return // another physical device answers under this name now
	}
	proves := after.Value.Equal(i.TargetValue, tolerance(after, spec))
	switch i.State {
	case term.PendingDispatch, term.Dispatched, term.Retrying, term.Acknowledged, term.Uncertain:
		if proves {
			prove(tx, i, after, timed)
		} else {
			refute(tx, i, before, after, spec)
		}
	case term.Expired: // an end stays; a fresh look after the last copy has lapsed lets the endpoint go
		if !tx.Now().Before(i.LapseAt) {
			tx.ReleaseEndpointIfUnproven(i)
			Dispatch(tx, i.EndpointID)
		}
	}
}

func prove(tx *plant.Tx, i *plant.Intent, e *plant.Endpoint, timed bool) {
	if e.SampledAt.Before(i.FencedAt) {
		return
	}
	strong := timed && !i.AckedAt.IsZero() && i.AckMark.Seq >= 0 && e.Mark.Seq > i.AckMark.Seq && e.Mark.BootID != "" && e.Mark.BootID == i.AckMark.BootID
	reason := "sampled after the ack by the device's own count"
	if !strong {
		if samples := i.WeakSamples + 1; samples < 2 {
			tx.CountWeakEvidence(i, samples)
			return
		}
		reason = "two equal samples since"
	}
	evidence := tx.RecordReceipt(plant.Receipt{IntentID: i.ID, DeviceID: i.DeviceID, Serial: i.Serial, Type: term.ReceiptTelemetry,
		Correlation: term.CorrelationTimely, CorrelationKey: string(i.CommandID), Reason: e.Value.String() + ": " + reason,
		Payload: []byte(term.JSON(e.Mark))})
	tx.MarkApplied(i, evidence)
	Dispatch(tx, i.EndpointID)
}

// refute ends an uncertain command as failed when another value was seen through a whole window after the
// last copy had lapsed: nothing can change it any more.
func refute(tx *plant.Tx, i *plant.Intent, before, after *plant.Endpoint, spec *term.EndpointSpec) {
	if i.WeakSamples > 0 {
		i = tx.CountWeakEvidence(i, 0)
	}
	window := time.Duration(tx.State().Timing(i.DeviceID).ReconciliationWindow)
	if i.State != term.Uncertain || tx.Now().Before(i.LapseAt.Add(window)) || before.ReceivedAt.Before(i.LapseAt) ||
		before.Value.Equal(i.TargetValue, tolerance(after, spec)) {
		return
	}
	tx.RecordReceipt(plant.Receipt{IntentID: i.ID, DeviceID: i.DeviceID, Serial: i.Serial, Type: term.ReceiptTelemetry,
		Correlation: term.CorrelationTimely, CorrelationKey: string(i.CommandID), Reason: after.Value.String() + " since the last copy lapsed"})
	tx.MarkFailed(i, "the endpoint still showed "+after.Value.String()+" after the last copy had lapsed")
	Dispatch(tx, i.EndpointID)
}
