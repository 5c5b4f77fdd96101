package api

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"surehand/internal/dbstate/read"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// jobParam is the part in the path: "order.n". What cannot be one names nothing.
func jobParam(r *http.Request) (term.JobID, error) {
	id := chi.URLParam(r, "id")
	at := strings.LastIndexByte(id, '.')
	if at < 0 || !term.ValidName(id[:at]) {
		return "", read.ErrNotFound
	}
	n, err := strconv.Atoi(id[at+1:])
	if err != nil || n < 1 || n > plant.MaxParts || id != string(term.NewJobID(term.OrderID(id[:at]), n)) {
		return "", read.ErrNotFound
	}
	return term.JobID(id), nil
}

func jobPath(id term.JobID) string { return Root + "/jobs/" + url.PathEscape(string(id)) }

func (s *server) listJobs(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "order", "state", "open", "cursor", "limit")
	f := read.JobFilter{Order: term.OrderID(q.text("order")), States: words[term.JobState](q, "state"), OnlyOpen: q.flag("open"), Cursor: q.text("cursor"), Limit: q.limit()}
	if q.fault != nil {
		return q.fault
	}
	page, err := s.o.Reader.Jobs(r.Context(), f)
	if err != nil {
		return err
	}
	stops, err := s.stops(r.Context())
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, listOf(page, stops.jobJSON))
	return nil
}

func (s *server) showJob(w http.ResponseWriter, r *http.Request) error {
	id, err := jobParam(r)
	if err != nil {
		return err
	}
	j, err := s.o.Reader.Job(r.Context(), id)
	if err != nil {
		return err
	}
	stops, err := s.stops(r.Context())
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, stops.jobJSON(j))
	return nil
}

func (s *server) jobTimeline(w http.ResponseWriter, r *http.Request) error {
	id, err := jobParam(r)
	if err != nil {
		return err
	}
	items, err := s.o.Reader.JobTimeline(r.Context(), id)
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, Timeline{Items: convert(items, timelineJSON)})
	return nil
}

// ofJob posts a message about the part in the path, made from a reason.
func (s *server) ofJob(reasonNeeded bool, says func(term.JobID, string) message.Payload) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := jobParam(r)
		if err != nil {
			return err
		}
		reason, err := s.reasonIn(w, r, reasonNeeded)
		if err != nil {
			return err
		}
		return s.change(w, r, says(id, reason), jobPath(id))
	}
}

func suspendJob(id term.JobID, why string) message.Payload {
	return message.SuspendJob{Job: id, Reason: why}
}
func resumeJob(id term.JobID, why string) message.Payload {
	return message.ResumeJob{Job: id, Reason: why}
}
func scrapJob(id term.JobID, why string) message.Payload {
	return message.ScrapJob{Job: id, Reason: why}
}

// reworkJob sends a part back to a step of its route. Which steps it has is the loop's to say.
func (s *server) reworkJob(w http.ResponseWriter, r *http.Request) error {
	id, err := jobParam(r)
	if err != nil {
		return err
	}
	var in ReworkRequest
	if err := s.readJSON(w, r, false, &in); err != nil {
		return err
	}
	if in.Step < 1 || in.Step > plant.MaxSteps {
		return invalid("/step", "a step of its route, from 1")
	}
	if err := reasonGiven(in.Reason); err != nil {
		return err
	}
	return s.change(w, r, message.ReworkJob{Job: id, Step: in.Step, Reason: in.Reason}, jobPath(id))
}

// reportPart: a person says where a part is, or that it was taken out. What this would change is asked back.
func (s *server) reportPart(w http.ResponseWriter, r *http.Request) error {
	id, err := jobParam(r)
	if err != nil {
		return err
	}
	var in ReportRequest
	if err := s.readJSON(w, r, false, &in); err != nil {
		return err
	}
	place, err := placeOf(in.Place)
	if err != nil {
		return err
	}
	if err := reasonGiven(in.Reason); err != nil {
		return err
	}
	return s.change(w, r, message.ReportPart{Job: id, Place: place, Reason: in.Reason}, Root+"/manual-actions")
}

// placeOf checks the form of a place that a person names. Whether it exists and is free is the loop's to say.
func placeOf(p term.Place) (term.Place, error) {
	switch ref := p.Ref; p.Type {
	case term.OnDock, term.OnBuffer:
		n, err := strconv.Atoi(ref)
		if err != nil || n < 1 || n > plant.MaxPlaces || ref != strconv.Itoa(n) {
			return term.Place{}, invalid("/place/ref", "the number of the place, from 1 to %d", plant.MaxPlaces)
		}
		return p, nil
	case term.OnEquipment:
		e, n := term.SlotID(ref).Split()
		if !term.ValidName(string(e)) || n < 1 || n > plant.MaxSlots || ref != string(term.NewSlotID(e, n)) {
			return term.Place{}, invalid("/place/ref", "the slot as equipment:n, such as mill:1")
		}
		return p, nil
	case term.OnRobot:
		if ref != "" && ref != term.GripperPlace().Ref {
			return term.Place{}, invalid("/place/ref", "the robot has one gripper; leave this out")
		}
		return term.GripperPlace(), nil
	case term.Out:
		if ref != "" && ref != term.OutRemoved {
			return term.Place{}, invalid("/place/ref", "a part that a person reports as out was removed; leave this out")
		}
		return term.OutPlace(term.OutRemoved), nil
	}
	return term.Place{}, invalid("/place/type", "ON_DOCK, ON_BUFFER, ON_EQUIPMENT, ON_ROBOT, or OUT for a part that was taken out")
}

func (s *server) listTasks(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "state", "order", "job", "equipment", "open", "cursor", "limit")
	f := read.TaskFilter{States: words[term.TaskState](q, "state"), Order: term.OrderID(q.text("order")), Job: term.JobID(q.text("job")),
		Equipment: term.EquipmentID(q.text("equipment")), OnlyOpen: q.flag("open"), Cursor: q.text("cursor"), Limit: q.limit()}
	if q.fault != nil {
		return q.fault
	}
	page, err := s.o.Reader.Tasks(r.Context(), f)
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, listOf(page, taskJSON))
	return nil
}

func (s *server) showTask(w http.ResponseWriter, r *http.Request) error {
	id, err := uuidParam(r)
	if err != nil {
		return err
	}
	t, err := s.o.Reader.Task(r.Context(), term.TaskID(id))
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, taskJSON(t))
	return nil
}
