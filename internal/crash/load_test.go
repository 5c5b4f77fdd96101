package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
)

var client = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// call makes one HTTP request; status 0: no answer.
func call(method, listen, path, key, body string) (status int, header http.Header, data []byte) {
	request, err := http.NewRequest(method, "http://"+listen+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, nil
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Prefer", "wait=0")
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, nil
	}
	defer response.Body.Close()
	if data, err = io.ReadAll(response.Body); err != nil {
		return 0, nil, nil
	}
	return response.StatusCode, response.Header, data
}

func getJSON(listen, path string, into any) bool {
	status, _, data := call(http.MethodGet, listen, path, "", "")
	return status == http.StatusOK && json.Unmarshal(data, into) == nil
}

// wish is one hand command of a person who asks with one key until there is an answer. Its value is its own,
// so what it made can be found again.
type wish struct {
	key, endpoint string
	value         int
	asked         int
	intent        string // as answered; empty: refused
	refused       string
}

// ask sends a wish once and tells whether it was answered.
func (a *wish) ask(listen string) (answered bool, fault string) {
	a.asked++
	status, header, data := call(http.MethodPost, listen, "/api/v1/commands", a.key, fmt.Sprintf(`{"endpoint":%q,"value":%d}`, a.endpoint, a.value))
	var said struct{ ID, Code string }
	switch status {
	case 0, http.StatusInternalServerError, http.StatusBadGateway:
		return false, ""
	case http.StatusServiceUnavailable:
		if header.Get("Retry-After") == "" {
			return false, "503 without Retry-After: " + string(data)
		}
		return false, ""
	case http.StatusOK, http.StatusAccepted:
		if err := json.Unmarshal(data, &said); err != nil {
			return false, "not JSON: " + string(data)
		}
		a.intent = said.ID
		return said.ID != "", ""
	case http.StatusConflict:
		if err := json.Unmarshal(data, &said); err != nil || said.Code == "idempotency_conflict" {
			return false, "the same request was taken for another one: " + string(data)
		}
		a.refused = said.Code
		return true, ""
	}
	return false, fmt.Sprintf("status %d: %s", status, data)
}

// load makes the rules fire and people ask until it is stopped.
type load struct {
	w       *world
	reboots bool
	stop    chan struct{}
	over    chan struct{} // people give up asking
	running sync.WaitGroup
	value   atomic.Int64

	mu     sync.Mutex
	wishes []*wish
	faults []string
}

const people = 3

// startLoad begins. reboots: devices lose their power now and then.
func (w *world) startLoad(reboots bool) *load {
	l := &load{w: w, reboots: reboots, stop: make(chan struct{}), over: make(chan struct{})}
	l.running.Go(func() { l.sensors(rand.New(rand.NewPCG(w.seed, 1))) })
	for n := range people {
		l.running.Go(func() { l.person(rand.New(rand.NewPCG(w.seed, uint64(2+n)))) })
	}
	return l
}

// sensors move each level over the limits about every two seconds.
func (l *load) sensors(random *rand.Rand) {
	devices := l.w.fleet.Devices()
	tick := time.NewTicker(2 * time.Second / time.Duration(len(devices)))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.stop:
			return
		}
		d := devices[random.IntN(len(devices))]
		level := 80.0
		if d.Value("level").(float64) > 60 {
			level = 20
		}
		if err := d.SetValue("level", level); err != nil {
			l.fault(err.Error())
		}
		if l.reboots && random.IntN(100) == 0 {
			if err := d.Reboot(); err != nil {
				l.fault(err.Error())
			}
		}
	}
}

func (l *load) person(random *rand.Rand) {
	devices := l.w.fleet.Devices()
	for {
		value := int(l.value.Add(1))
		a := &wish{key: fmt.Sprintf("%s-%d", l.w.t.Name(), value), value: value, endpoint: devices[random.IntN(len(devices))].Serial() + "/speed"}
		l.mu.Lock()
		l.wishes = append(l.wishes, a)
		l.mu.Unlock()
		for answered := false; !answered; {
			var fault string
			if answered, fault = a.ask(l.w.address()); fault != "" {
				l.fault(a.key + ": " + fault)
			}
			if !answered && !pause(l.over, 100*time.Millisecond) {
				l.fault(a.key + ": never answered")
				return
			}
		}
		if !pause(l.stop, time.Duration(50+random.IntN(400))*time.Millisecond) {
			return
		}
	}
}

// pause waits a while between two requests; false: it is over.
func pause(over <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-over:
		return false
	}
}

func (l *load) fault(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, text)
}

// end stops the load; every wish that was begun is asked until it is answered.
func (l *load) end() []*wish {
	l.w.t.Helper()
	close(l.stop)
	done := make(chan struct{})
	go func() { l.running.Wait(); close(done) }()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
		close(l.over)
		<-done
	}
	require.Empty(l.w.t, l.faults)
	require.NotEmpty(l.w.t, l.wishes)
	return l.wishes
}
