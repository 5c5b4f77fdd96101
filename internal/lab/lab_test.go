package lab

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/config"
	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/production"
	"surehand/internal/simulator/line"
)

func TestFilesAreRight(t *testing.T) {
	for _, speed := range []float64{0.1, 1, 20, 100} {
		file, err := PlantFile(speed, func(id string) string { return id + ":1" })
		require.NoError(t, err)
		plant, problems := config.Plant(file)
		require.Empty(t, problems, "speed %g", speed)
		require.Empty(t, production.Check(plant), "speed %g", speed)
		require.Equal(t, CellName, plant.Cell.Name)
	}
	file, err := DeviceFile(Houses(5))
	require.NoError(t, err)
	devices, problems := config.Devices(file)
	require.Empty(t, problems)
	require.Len(t, devices.Devices, 50)
	require.Len(t, devices.Rules, 50)
}

func startPlant(t *testing.T, file string) *Plant {
	t.Helper()
	p, err := Start(Options{BrokerURL: embeddedtest.Broker(t).URL(), Houses: 1, Speed: 100, Seed: 1, File: file})
	require.NoError(t, err)
	return p
}

// Whatever is listed can be switched, more than once, and taken back, over HTTP as the page does it.
func TestEveryFaultCanBeSwitched(t *testing.T) {
	t.Parallel()
	p := startPlant(t, "")
	defer func() { require.NoError(t, p.Close()) }()
	post := func(id, body string) (*httptest.ResponseRecorder, []Fault) {
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8751/faults/"+id, strings.NewReader(body)))
		var all []Fault
		_ = json.Unmarshal(w.Body.Bytes(), &all)
		return w, all
	}
	all := p.Faults()
	require.Greater(t, len(all), 40)
	seen := map[string]bool{}
	for n, f := range all {
		require.False(t, seen[f.ID], f.ID)
		seen[f.ID] = true
		for range 2 {
			w, now := post(f.ID, `{"on":true}`)
			require.Equal(t, http.StatusOK, w.Code, "%s: %s", f.ID, w.Body)
			require.Equal(t, f.Kind == Switch, now[n].On, f.ID)
		}
		w, now := post(f.ID, `{"on":false}`)
		require.Equal(t, http.StatusOK, w.Code, "%s: %s", f.ID, w.Body)
		require.False(t, now[n].On, f.ID)
	}
	for id, want := range map[string]struct {
		body string
		code int
	}{
		"cut:nothing": {`{"on":true}`, http.StatusNotFound},
		"cut:mill":    {`{}`, http.StatusUnprocessableEntity},
		"cut:lathe":   {`on`, http.StatusUnprocessableEntity},
	} {
		w, _ := post(id, want.body)
		require.Equal(t, want.code, w.Code, id)
		require.Contains(t, w.Header().Get("Content-Type"), "problem+json")
	}
	for host, c := range map[string]struct {
		site string
		code int
	}{
		"localhost:8751":   {"cross-site", http.StatusForbidden},
		"[::1]:8751":       {"same-origin", http.StatusOK},
		"localhost":        {"", http.StatusOK},
		"rebound.test":     {"same-origin", http.StatusMisdirectedRequest},
		"192.168.1.7:8751": {"", http.StatusMisdirectedRequest},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://"+host+"/faults/cut:mill", strings.NewReader(`{"on":false}`))
		r.Header.Set("Sec-Fetch-Site", c.site)
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, r)
		require.Equal(t, c.code, w.Code, host)
	}
	require.Empty(t, p.World.Truth().Violations)
}

// A plant that is ended, or killed after its last word to the file, stands as it stood: parts, codes and ports.
func TestPartsStay(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "plant.json")
	p := startPlant(t, file)
	_, err := p.Arrive(4)
	require.NoError(t, err)
	for _, move := range [][2]line.Place{{1, 31}, {2, 42}, {3, line.Gripper}} {
		require.NoError(t, p.World.Move(move[0], move[1]))
	}
	ports, was := p.Address("mill")+p.Address("robot")+p.Address("marker"), places(p)
	require.NoError(t, p.Close())

	p = startPlant(t, file)
	require.Equal(t, was, places(p))
	require.Equal(t, ports, p.Address("mill")+p.Address("robot")+p.Address("marker"))
	_, err = p.World.Remove(4)
	require.NoError(t, err)
	_, err = p.Arrive(1)
	require.NoError(t, err)
	require.Equal(t, "HS-201", places(p)[1], "codes count on")
	require.NoError(t, p.Close())

	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	_, err = Start(Options{Houses: 1, Speed: 1, File: file})
	require.ErrorContains(t, err, "delete it")
}

func places(p *Plant) map[line.Place]string {
	at := map[line.Place]string{}
	for _, part := range p.World.Truth().Parts {
		if part.At >= 0 {
			at[part.At] = part.Code
		}
	}
	return at
}

// A killed process is started again, a frozen one can be ended, and one that never came up is told.
func TestSupervisor(t *testing.T) {
	t.Parallel()
	p := &Plant{}
	s := NewSupervisor(p, io.Discard, func() *exec.Cmd { return exec.Command("sleep", "600") })
	s.pause = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	running := func(not int) int {
		for {
			if pid := s.PID(); pid != 0 && pid != not {
				return pid
			}
			select {
			case err := <-ended:
				t.Fatalf("ended: %v", err)
			case <-t.Context().Done():
				t.Fatal("does not run")
			case <-time.After(time.Millisecond):
			}
		}
	}
	first := running(0)
	require.NoError(t, p.Set("kill:surehand", true))
	require.NotZero(t, running(first))
	for range 2 {
		require.NoError(t, p.Set("freeze:surehand", true))
	}
	cancel()
	require.NoError(t, <-ended)
	require.Zero(t, s.PID())
	for _, fault := range []string{"kill:surehand", "freeze:surehand"} {
		require.ErrorIs(t, p.Set(fault, true), errNotRunning)
	}

	s = NewSupervisor(&Plant{}, io.Discard, func() *exec.Cmd { return exec.Command("false") })
	require.ErrorContains(t, s.Run(t.Context()), "did not come up")
}
