package rows

import (
	"surehand/ent"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func SetQuestion(m *ent.ManualActionMutation, r *plant.Question) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetState(r.State)
	m.SetFinding(r.Finding)
	m.SetSubject(r.Subject)
	putList(r.Touches, m.SetTouches, m.ClearTouches)
	m.SetRecord(r.Record)
	m.SetMachine(r.Machine)
	putList(r.Readings, m.SetReadings, m.ClearReadings)
	m.SetHash(r.Hash)
	putList(r.Answers, m.SetAnswers, m.ClearAnswers)
	put(r.Suggested, m.SetSuggested, m.ClearSuggested)
	put(r.TaskID, m.SetTaskID, m.ClearTaskID)
	put(r.JobID, m.SetJobID, m.ClearJobID)
	put(r.Place.Type, m.SetPlaceType, m.ClearPlaceType)
	put(r.Place.Ref, m.SetPlaceRefID, m.ClearPlaceRefID)
	m.SetOpenedAt(plant.Micros(r.OpenedAt))
	put(r.Answer, m.SetAnswer, m.ClearAnswer)
	put(r.By, m.SetAnsweredBy, m.ClearAnsweredBy)
	put(r.Reason, m.SetReason, m.ClearReason)
	putTime(r.EndedAt, m.SetEndedAt, m.ClearEndedAt)
	m.SetIsOpen(r.Open())
}

func Question(e *ent.ManualAction) (*plant.Question, error) {
	p := &parser{kind: plant.KindQuestion, key: string(e.ID)}
	return &plant.Question{
		ID: e.ID, Version: e.Version, State: e.State, Finding: e.Finding, Subject: e.Subject,
		Touches: list[string](p, "touches", e.Touches), Record: e.Record, Machine: e.Machine,
		Readings: list[plant.BoundReading](p, "readings", e.Readings), Hash: e.Hash,
		Answers: list[term.Answer](p, "answers", e.Answers), Suggested: get(e.Suggested), TaskID: get(e.TaskID), JobID: get(e.JobID),
		Place: term.Place{Type: get(e.PlaceType), Ref: get(e.PlaceRefID)}, OpenedAt: plant.Micros(e.OpenedAt),
		Answer: get(e.Answer), By: get(e.AnsweredBy), Reason: get(e.Reason), EndedAt: getTime(e.EndedAt),
	}, p.err
}

func SetAlarm(m *ent.AlarmMutation, r *plant.Alarm) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetType(r.Type)
	m.SetSubject(r.Subject)
	m.SetState(r.State)
	m.SetText(r.Text)
	m.SetCount(r.Count)
	m.SetFirstOut(r.FirstOut)
	putTime(r.ShelvedUntil, m.SetShelvedUntil, m.ClearShelvedUntil)
	put(r.ShelvedBy, m.SetShelvedBy, m.ClearShelvedBy)
	put(r.ShelveReason, m.SetShelveReason, m.ClearShelveReason)
	m.SetRaisedAt(plant.Micros(r.RaisedAt))
	putTime(r.ClearedAt, m.SetClearedAt, m.ClearClearedAt)
	put(r.AckedBy, m.SetAckedBy, m.ClearAckedBy)
	putTime(r.AckedAt, m.SetAckedAt, m.ClearAckedAt)
	putTime(r.EndedAt, m.SetEndedAt, m.ClearEndedAt)
	m.SetIsOpen(r.Open())
}

func Alarm(e *ent.Alarm) (*plant.Alarm, error) {
	return &plant.Alarm{
		ID: e.ID, Version: e.Version, Type: e.Type, Subject: e.Subject, State: e.State, Text: e.Text, Count: e.Count,
		FirstOut: e.FirstOut, ShelvedUntil: getTime(e.ShelvedUntil), ShelvedBy: get(e.ShelvedBy), ShelveReason: get(e.ShelveReason),
		RaisedAt: plant.Micros(e.RaisedAt), ClearedAt: getTime(e.ClearedAt), AckedBy: get(e.AckedBy), AckedAt: getTime(e.AckedAt),
		EndedAt: getTime(e.EndedAt),
	}, nil
}
