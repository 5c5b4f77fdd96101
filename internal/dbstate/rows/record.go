package rows

import (
	"surehand/ent"
	"surehand/internal/plant"
)

func SetHold(m *ent.HoldMutation, r *plant.Hold) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetSubject(r.Subject)
	m.SetReason(r.Reason)
	put(r.By, m.SetBy, m.ClearBy)
	put(r.Why, m.SetWhy, m.ClearWhy)
	m.SetAt(plant.Micros(r.At))
	putTime(r.EndedAt, m.SetEndedAt, m.ClearEndedAt)
	put(r.EndedBy, m.SetEndedBy, m.ClearEndedBy)
	put(r.EndWhy, m.SetEndWhy, m.ClearEndWhy)
	m.SetIsOpen(r.Open())
}

func Hold(e *ent.Hold) (*plant.Hold, error) {
	return &plant.Hold{
		ID: e.ID, Version: e.Version, Subject: e.Subject, Reason: e.Reason, By: get(e.By), Why: get(e.Why),
		At: plant.Micros(e.At), EndedAt: getTime(e.EndedAt), EndedBy: get(e.EndedBy), EndWhy: get(e.EndWhy),
	}, nil
}

func SetMessageKey(m *ent.MessageKeyMutation, r *plant.MessageKey) {
	m.SetID(r.ID)
	put(r.BodyHash, m.SetBodyHash, m.ClearBodyHash)
	put(r.Outcome, m.SetOutcome, m.ClearOutcome)
	m.SetAt(plant.Micros(r.At))
}

func MessageKey(e *ent.MessageKey) (*plant.MessageKey, error) {
	return &plant.MessageKey{ID: e.ID, BodyHash: get(e.BodyHash), Outcome: get(e.Outcome), At: plant.Micros(e.At)}, nil
}

func SetParked(m *ent.ParkedMessageMutation, r *plant.Parked) {
	m.SetID(r.ID)
	m.SetType(r.Type)
	m.SetSource(r.Source)
	if r.Raw != nil {
		m.SetRaw(r.Raw)
	}
	put(r.Reason, m.SetReason, m.ClearReason)
	m.SetAt(plant.Micros(r.At))
}

func Parked(e *ent.ParkedMessage) (*plant.Parked, error) {
	return &plant.Parked{ID: e.ID, Type: e.Type, Source: e.Source, Raw: e.Raw, Reason: get(e.Reason), At: plant.Micros(e.At)}, nil
}

// SetEntry fills a row of the event log of one generation.
func SetEntry(m *ent.EventLogMutation, generation string, r *plant.Entry) {
	m.SetID(r.Seq)
	m.SetGeneration(generation)
	m.SetMessageID(r.MessageID)
	m.SetType(r.Type)
	m.SetSource(r.Source)
	put(r.Actor, m.SetActor, m.ClearActor)
	put(r.CorrelationID, m.SetCorrelationID, m.ClearCorrelationID)
	put(r.CausationID, m.SetCausationID, m.ClearCausationID)
	putTime(r.CreatedAt, m.SetCreatedAt, m.ClearCreatedAt)
	m.SetDecidedAt(plant.Micros(r.At))
	m.SetOutcome(r.Outcome)
	put(r.Reason, m.SetReason, m.ClearReason)
	put(r.Subject, m.SetSubject, m.ClearSubject)
	putList(r.Notes, m.SetNotes, m.ClearNotes)
	m.SetNotesLeftOut(r.NotesLeftOut)
}

func Entry(e *ent.EventLog) (*plant.Entry, error) {
	p := &parser{kind: "event_log", key: string(e.MessageID)}
	return &plant.Entry{
		Seq: e.ID, MessageID: e.MessageID, Type: e.Type, Source: e.Source, Actor: get(e.Actor),
		CorrelationID: get(e.CorrelationID), CausationID: get(e.CausationID), At: plant.Micros(e.DecidedAt),
		CreatedAt: getTime(e.CreatedAt), Outcome: e.Outcome, Reason: get(e.Reason), Subject: get(e.Subject),
		Notes: list[plant.Note](p, "notes", e.Notes), NotesLeftOut: e.NotesLeftOut,
	}, p.err
}

// Fence is the loop's row.
func Fence(e *ent.LoopState) plant.Fence {
	return plant.Fence{Installation: e.Installation, Generation: e.Generation, Seq: e.Seq, Turn: e.Turn, Epoch: e.Epoch, Life: e.Life}
}
