package api

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"surehand/internal/message"
)

// Root is where all resources are.
const Root = "/api/v1"

// Health is what the loop tells about itself, from any goroutine and without waiting.
type Health struct {
	Opened       bool // the database has confirmed this process life
	LastTurn     time.Time
	DatabaseAway bool
	Epoch        int64
	Inbox        Inbox
}

// Inbox counts undecided messages by source.
type Inbox struct {
	Person    int64 `json:"person"`
	Worker    int64 `json:"worker"`
	Device    int64 `json:"device"`
	Telemetry int64 `json:"telemetry"`
}

// Options of the API. Reader, Post, Health and Hub are required.
type Options struct {
	Reader Reader
	// Post puts a message into the loop's inbox; false: no room. It never waits.
	Post   func(message.Message) bool
	Health func() Health
	Hub    *Hub
	// ParseDevices reads a YAML configuration; nil: only JSON can be imported.
	ParseDevices func([]byte) (message.ImportDevices, []message.Problem)
	// ParsePlant reads a plant file (YAML); nil: none can be imported.
	ParsePlant func([]byte) (message.ImportPlant, []message.Problem)
	Metrics    http.Handler // nil: no /metrics
	Console    http.Handler // the page at / and its files below /assets/; nil: nothing there
	// Mount are further handlers by the first part of their path, "/lab": what is not the product's, as the demo's
	// simulated plant. They stand behind the same guards.
	Mount   map[string]http.Handler
	Version string
	Hosts   []string // further host names to answer to, in lower case; this machine's loopback always
	Log     *slog.Logger
	Now     func() time.Time
}

type server struct {
	o      Options
	log    *slog.Logger
	routes *chi.Mux
	// decideWithin is how long the loop's word is waited for, however short the wait for the outcome is: a
	// client that does not wait for hardware still learns that it was refused.
	decideWithin time.Duration
}

// New makes the handler of all routes.
func New(o Options) http.Handler { return newServer(o).routes }

func newServer(o Options) *server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &server{o: o, log: o.Log, routes: chi.NewRouter(), decideWithin: defaultWait}
	r := s.routes
	r.Use(identify, harden, s.survive, s.sameMachine, s.sameSite)
	r.NotFound(s.handle(func(_ http.ResponseWriter, r *http.Request) error {
		return problem(http.StatusNotFound, "no_such_route", "There is nothing at this address.")
	}))
	r.MethodNotAllowed(s.wrongMethod)
	r.Get("/healthz", s.healthz)
	r.Get("/readyz", s.readyz)
	if o.Metrics != nil {
		r.Method(http.MethodGet, "/metrics", o.Metrics)
	}
	if o.Console != nil {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			r.Method(method, "/", o.Console)
			r.Method(method, "/assets/*", o.Console)
		}
	}
	for at, h := range o.Mount {
		r.Mount(at, http.StripPrefix(at, h))
	}
	r.Route(Root, s.resources)
	return s
}

// resources lists every route of the API once.
func (s *server) resources(r chi.Router) {
	r.Get("/openapi.json", s.handle(s.document))
	r.Get("/stream", s.handle(s.stream))

	r.Get("/commands", s.reading(s.listCommands))
	r.Post("/commands", s.handle(s.sendCommand))
	r.Get("/commands/{id}", s.reading(s.showCommand))
	r.Get("/commands/{id}/timeline", s.reading(s.commandTimeline))
	r.Post("/commands/{id}/cancel", s.handle(s.cancelCommand))
	r.Post("/commands/{id}/verdict", s.handle(s.judgeCommand))

	r.Get("/executions", s.reading(s.listExecutions))
	r.Get("/executions/{id}", s.reading(s.showExecution))
	r.Get("/executions/{id}/timeline", s.reading(s.executionTimeline))

	r.Get("/devices", s.reading(s.listDevices))
	r.Get("/devices/{id}", s.reading(s.showDevice))
	r.Get("/devices/{id}/events", s.reading(s.deviceEvents))
	r.Get("/events", s.reading(s.listEvents))
	r.Get("/log", s.reading(s.listLog))
	r.Get("/parked", s.reading(s.listParked))

	r.Get("/organisations", s.reading(s.listOrganisations))
	r.Get("/farms", s.reading(s.listFarms))
	r.Get("/profiles", s.reading(s.listProfiles))
	r.Get("/rules", s.reading(s.listRules))
	r.Post("/configuration/import", s.handle(s.importConfiguration))

	s.production(r)

	r.Get("/holds", s.reading(s.listHolds))
	r.Post("/holds/release", s.handle(s.releaseHold))

	r.Get("/diagnostics/top-timeouts", s.reading(s.topTimeouts))
	r.Get("/system", s.reading(s.system))
	r.Post("/system/stop", s.handle(s.stop))
}

// production lists the routes of the cell.
func (s *server) production(r chi.Router) {
	r.Get("/orders", s.reading(s.listOrders))
	r.Post("/orders", s.handle(s.createOrder))
	r.Get("/orders/{id}", s.reading(s.showOrder))
	r.Get("/orders/{id}/timeline", s.reading(s.orderTimeline))
	r.Post("/orders/{id}/start", s.handle(s.ofOrder(startOrder)))
	r.Post("/orders/{id}/pause", s.handle(s.ofOrder(pauseOrder)))
	r.Post("/orders/{id}/resume", s.handle(s.ofOrder(resumeOrder)))
	r.Post("/orders/{id}/cancel", s.handle(s.cancelOrder))
	r.Post("/orders/{id}/pallets", s.handle(s.palletArrived))
	r.Post("/pallets/{id}/leave", s.handle(s.palletLeft))

	r.Get("/jobs", s.reading(s.listJobs))
	r.Get("/jobs/{id}", s.reading(s.showJob))
	r.Get("/jobs/{id}/timeline", s.reading(s.jobTimeline))
	r.Post("/jobs/{id}/suspend", s.handle(s.ofJob(false, suspendJob)))
	r.Post("/jobs/{id}/resume", s.handle(s.ofJob(false, resumeJob)))
	r.Post("/jobs/{id}/rework", s.handle(s.reworkJob))
	r.Post("/jobs/{id}/scrap", s.handle(s.ofJob(true, scrapJob)))
	r.Post("/jobs/{id}/report", s.handle(s.reportPart))
	r.Get("/tasks", s.reading(s.listTasks))
	r.Get("/tasks/{id}", s.reading(s.showTask))

	r.Get("/cell", s.reading(s.showCell))
	r.Post("/cell/pause", s.handle(s.ofCell(pauseCell)))
	r.Post("/cell/release", s.handle(s.ofCell(releaseCell)))
	r.Post("/cell/refill", s.handle(s.plainly(message.RefillRequested{}, Root+"/cell")))
	r.Post("/cell/compare", s.handle(s.plainly(message.CompareCell{}, Root+"/recovery")))
	r.Get("/equipment", s.reading(s.listEquipment))
	r.Get("/equipment/{id}", s.reading(s.showEquipment))
	r.Post("/equipment/{id}/enable", s.handle(s.ofEquipment(enableEquipment)))
	r.Post("/equipment/{id}/disable", s.handle(s.ofEquipment(disableEquipment)))

	r.Get("/manual-actions", s.reading(s.listManualActions))
	r.Get("/manual-actions/{id}", s.reading(s.showManualAction))
	r.Post("/manual-actions/{id}/answer", s.handle(s.answerManualAction))
	r.Get("/recovery", s.reading(s.showRecovery))
	r.Post("/recovery/confirm", s.handle(s.confirmRecovery))
	r.Get("/alarms", s.reading(s.listAlarms))
	r.Post("/alarms/{id}/acknowledge", s.handle(s.acknowledgeAlarm))
	r.Post("/alarms/{id}/shelve", s.handle(s.shelveAlarm))

	r.Get("/routes", s.reading(s.listRoutes))
	r.Get("/plant", s.reading(s.showPlant))
	r.Post("/plant", s.handle(s.importPlant))
}

// handle gives every handler one way to fail.
func (s *server) handle(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	}
}

// readWithin bounds what one request may wait for the database to read.
const readWithin = 10 * time.Second

// reading is handle for what only reads.
func (s *server) reading(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return s.handle(func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), readWithin)
		defer cancel()
		return h(w, r.WithContext(ctx))
	})
}

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func (s *server) wrongMethod(w http.ResponseWriter, r *http.Request) {
	allowed := slices.DeleteFunc(slices.Clone(methods), func(method string) bool {
		return !s.routes.Match(chi.NewRouteContext(), method, r.URL.Path)
	})
	for _, method := range allowed {
		w.Header().Add("Allow", method)
	}
	s.fail(w, r, problem(http.StatusMethodNotAllowed, "method_not_allowed", "This address does not take %s.", r.Method))
}
