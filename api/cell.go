package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"surehand/internal/dbstate/read"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func (s *server) showCell(w http.ResponseWriter, r *http.Request) error {
	if err := queryOnly(r); err != nil {
		return err
	}
	overview, stops, err := s.overview(r.Context())
	if err != nil {
		return err
	}
	if overview.Cell == nil {
		return read.ErrNotFound
	}
	s.answer(w, r, http.StatusOK, stops.cellJSON(overview))
	return nil
}

// overview reads the cell as it stands at one commit, and the open questions.
func (s *server) overview(ctx context.Context) (read.CellOverview, stops, error) {
	o, err := s.o.Reader.Overview(ctx)
	if err != nil {
		return o, stops{}, err
	}
	questions, err := s.openQuestions(ctx)
	return o, newStops(o.Holds, questions), err
}

func (s stops) cellJSON(o read.CellOverview) *Cell {
	c := o.Cell
	out := &Cell{Name: c.Name, Version: c.Version, Revision: c.Revision, Config: c.Config, WaitingFor: c.WaitingFor, Plan: c.Plan,
		RefillAsked: c.RefillAsked, LastActionNo: c.LastActionNo, DueAt: c.DueAt, Holds: s.holdsOf(plant.CellSubject),
		Starts: convert(o.Starts, taskJSON), Buffer: cellPlaces(c.Config.Buffer), Dock: cellPlaces(c.Config.Dock),
		Equipment: convert(o.Equipment, func(e read.EquipmentView) Equipment { return s.equipmentJSON(e.Equipment, e.Slots) }),
		Pallets:   convert(o.Pallets, palletJSON), ManualActions: o.Questions, Alarms: o.Alarms, UnseenAlarms: o.Unseen}
	for _, j := range o.Placed {
		out.put(j, s.jobJSON(j))
	}
	if o.RobotTask != nil {
		task := taskJSON(o.RobotTask)
		out.RobotTask = &task
	}
	return out
}

// cellPlaces are the empty places of a row.
func cellPlaces(row term.PlaceRow) []CellPlace {
	places := make([]CellPlace, row.Count)
	for i := range places {
		places[i] = CellPlace{Number: i + 1, WireNumber: row.First + i, Jobs: []Job{}}
	}
	return places
}

// put shows a part where it is, and at the buffer place that is kept for it.
func (c *Cell) put(r *plant.Job, j Job) {
	if r.Position.Type == term.OnRobot {
		c.Gripper = &j
	}
	if r.Position.Type == term.OnDock {
		take(c.Dock, r.Position.Number(), j)
	}
	own := r.TempSlotNo
	if r.Position.Type == term.OnBuffer {
		own = r.Position.Number()
	}
	take(c.Buffer, own, j)
}

// take: a number that does not exist, which a recovery may find, is shown by its question.
func take(places []CellPlace, n int, j Job) {
	if n >= 1 && n <= len(places) {
		places[n-1].Taken = true
		places[n-1].Jobs = append(places[n-1].Jobs, j)
	}
}

// equipment reads all of it with its slots.
func (s *server) equipment(ctx context.Context, stops stops) ([]Equipment, error) {
	rows, err := s.o.Reader.Equipment(ctx)
	if err != nil {
		return nil, err
	}
	slots, err := s.o.Reader.Slots(ctx)
	if err != nil {
		return nil, err
	}
	return convert(rows, func(e *plant.Equipment) Equipment { return stops.equipmentJSON(e, slots) }), nil
}

func (s *server) listEquipment(w http.ResponseWriter, r *http.Request) error {
	if err := queryOnly(r); err != nil {
		return err
	}
	stops, err := s.stops(r.Context())
	if err != nil {
		return err
	}
	all, err := s.equipment(r.Context(), stops)
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, List[Equipment]{Items: all})
	return nil
}

func (s *server) showEquipment(w http.ResponseWriter, r *http.Request) error {
	id, err := nameParam(r)
	if err != nil {
		return err
	}
	stops, err := s.stops(r.Context())
	if err != nil {
		return err
	}
	all, err := s.equipment(r.Context(), stops)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.ID == term.EquipmentID(id) {
			s.answer(w, r, http.StatusOK, e)
			return nil
		}
	}
	return read.ErrNotFound
}

// ofEquipment posts a message about the equipment in the path, with the reason that it needs.
func (s *server) ofEquipment(says func(term.EquipmentID, string) message.Payload) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := nameParam(r)
		if err != nil {
			return err
		}
		reason, err := s.reasonIn(w, r, true)
		if err != nil {
			return err
		}
		return s.change(w, r, says(term.EquipmentID(id), reason), Root+"/equipment/"+url.PathEscape(id))
	}
}

func enableEquipment(id term.EquipmentID, why string) message.Payload {
	return message.EnableEquipment{Equipment: id, Reason: why}
}
func disableEquipment(id term.EquipmentID, why string) message.Payload {
	return message.DisableEquipment{Equipment: id, Reason: why}
}

// ofCell posts a message about the cell, made from an optional reason.
func (s *server) ofCell(says func(string) message.Payload) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		reason, err := s.reasonIn(w, r, false)
		if err != nil {
			return err
		}
		return s.change(w, r, says(reason), Root+"/cell")
	}
}

func pauseCell(why string) message.Payload   { return message.PauseCell{Reason: why} }
func releaseCell(why string) message.Payload { return message.ReleaseCell{Reason: why} }

// plainly posts a message that needs nothing to be said.
func (s *server) plainly(p message.Payload, location string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := s.readJSON(w, r, true, &struct{}{}); err != nil {
			return err
		}
		return s.change(w, r, p, location)
	}
}

// showRecovery tells whether the cell waits for a person after a restart, and for which answers: as much of it as the
// database knows.
func (s *server) showRecovery(w http.ResponseWriter, r *http.Request) error {
	if err := queryOnly(r); err != nil {
		return err
	}
	ctx := r.Context()
	holds, err := s.o.Reader.Holds(ctx)
	if err != nil {
		return err
	}
	questions, err := s.openQuestions(ctx)
	if err != nil {
		return err
	}
	var blocking, others []*plant.Question
	for _, q := range questions {
		if q.Finding.BlocksRecovery() {
			blocking = append(blocking, q)
		} else {
			others = append(others, q)
		}
	}
	shown := slices.Concat(blocking, others)
	shown = shown[:min(len(shown), maxLimit)]
	out := Recovery{Holds: []Hold{}, Blocking: len(blocking), Findings: convert(shown, questionJSON), Truncated: len(shown) < len(questions)}
	for _, h := range holds {
		if h.Reason == term.HoldRecovery {
			out.Held = out.Held || h.Subject == plant.CellSubject
			out.Holds = append(out.Holds, holdJSON(h))
		}
	}
	out.Confirmable = out.Held && len(blocking) == 0
	s.answer(w, r, http.StatusOK, out)
	return nil
}

func (s *server) confirmRecovery(w http.ResponseWriter, r *http.Request) error {
	var in ConfirmRequest
	if err := s.readJSON(w, r, true, &in); err != nil {
		return err
	}
	if err := shortText("/reason", in.Reason); err != nil {
		return err
	}
	return s.change(w, r, message.ConfirmRecovery{Release: in.Release, Reason: in.Reason}, Root+"/recovery")
}

// snapshotOfCell adds to the beginning of a stream what its topics want of the cell.
func (s *server) snapshotOfCell(ctx context.Context, to *snapshotEvent, wanted topics) error {
	if wanted&topicCell != 0 {
		o, stops, err := s.overview(ctx)
		if err != nil {
			return err
		}
		if to.OpenOrders = convert(o.Orders, stops.orderJSON); o.Cell != nil {
			to.Cell = stops.cellJSON(o)
		}
	}
	if wanted&topicQuestions != 0 {
		questions, err := s.openQuestions(ctx)
		if err != nil {
			return err
		}
		to.ManualActions = convert(questions, questionJSON)
	}
	if wanted&topicAlarms != 0 {
		alarms, err := s.o.Reader.Alarms(ctx, read.AlarmFilter{OnlyOpen: true, Limit: maxLimit})
		if err != nil {
			return err
		}
		to.Alarms = convert(alarms.Items, alarmJSON)
	}
	return nil
}
