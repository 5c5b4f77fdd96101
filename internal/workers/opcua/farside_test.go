package opcua_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"surehand/internal/stories/npmtest"
)

const (
	// pkg is the server that the machines are made with: another author's, in another language.
	pkg = "node-opcua-server@2.182.2"
	// ownServers is how many tests may open a machine with a server of its own.
	ownServers = 3
	patience   = time.Minute
	// startsWithin is for a loaded machine: the server's library and the address spaces take their time.
	startsWithin = 3 * time.Minute
)

// farSide is the one machine.mjs of this test process: it takes seconds to start.
var farSide farSideProcess

type farSideProcess struct {
	once   sync.Once
	err    error
	folder string
	run    *exec.Cmd
	in     io.WriteCloser
	faults bytes.Buffer

	mu      sync.Mutex
	asked   int
	answers map[int]chan answer
	began   map[string]chan struct{} // by machine; closed and renewed with each start
	ended   chan struct{}
}

// answer is a line of machine.mjs.
type answer struct {
	ID    int
	Error string
	Port  int
	URI   string
	Truth truth

	Machine string
	Began   *begun
}

type (
	begun struct {
		Number        uint32
		Slot, Program int
	}
	truth struct {
		Begun      []begun
		Ignored    []uint32
		Raised     map[int]int // how often done rose, by slot
		Violations []string
		Writes     int
		Sessions   int
	}
)

func TestMain(m *testing.M) {
	flag.Parse()
	// These tests wait for time-outs most of their time, so more of them fit than there are processors. Asked for
	// otherwise, that stands.
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		if err := flag.Set("test.parallel", "6"); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if farSide.run != nil {
		_ = farSide.in.Close()
		_ = farSide.run.Process.Kill()
		<-farSide.ended
	}
	if farSide.folder != "" {
		_ = os.RemoveAll(farSide.folder)
	}
	os.Exit(code)
}

func startFarSide(t *testing.T) {
	t.Helper()
	npmtest.Needed(t)
	farSide.once.Do(func() { farSide.err = launch() })
	if farSide.err != nil {
		t.Fatal(farSide.err)
	}
}

func launch() (err error) {
	f := &farSide
	if f.folder, err = os.MkdirTemp("", "opcua"); err != nil {
		return err
	}
	script, err := npmtest.Install(f.folder, pkg, "testdata/machine.mjs")
	if err != nil {
		return err
	}
	run := exec.Command("node", script, f.folder, fmt.Sprint(ownServers))
	run.Env = append(os.Environ(), "HOME="+f.folder, "XDG_CONFIG_HOME="+f.folder) // the library keeps keys below them
	run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	run.Stderr = &f.faults
	if f.in, err = run.StdinPipe(); err != nil {
		return err
	}
	out, err := run.StdoutPipe()
	if err != nil {
		return err
	}
	if err := run.Start(); err != nil {
		return err
	}
	f.run, f.ended, f.answers, f.began = run, make(chan struct{}), map[int]chan answer{}, map[string]chan struct{}{}
	lines := bufio.NewScanner(out)
	up := make(chan struct{})
	go func() {
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), `{"ready"`) {
				close(up)
				break
			}
		}
		listen(lines)
	}()
	select {
	case <-up:
		return nil
	case <-f.ended:
		return fmt.Errorf("machine.mjs ended: %s", f.faults.String())
	case <-time.After(startsWithin):
		return fmt.Errorf("machine.mjs did not start within %s", startsWithin)
	}
}

func listen(lines *bufio.Scanner) {
	f := &farSide
	defer close(f.ended)
	for lines.Scan() {
		var a answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			continue // the library's own remarks
		}
		f.mu.Lock()
		if a.Began != nil {
			close(f.news(a.Machine))
			f.began[a.Machine] = make(chan struct{})
		} else if waits := f.answers[a.ID]; waits != nil {
			waits <- a
			delete(f.answers, a.ID)
		}
		f.mu.Unlock()
	}
	_ = f.run.Wait()
}

// news is closed when the machine begins something; the caller holds mu.
func (f *farSideProcess) news(machine string) chan struct{} {
	if f.began[machine] == nil {
		f.began[machine] = make(chan struct{})
	}
	return f.began[machine]
}

// machine is one of machine.mjs.
type machine struct {
	t       testing.TB
	name    string
	address string // host:port of its server
	uri     string
}

// openMachine makes a machine; what is shaped otherwise than in docs/drivers.md is told by the name of its node.
func openMachine(t *testing.T, own bool, shapes map[string]any) *machine {
	t.Helper()
	if shapes == nil {
		shapes = map[string]any{}
	}
	return openNamed(t, strings.NewReplacer("/", "_", " ", "_").Replace(t.Name()), map[string]any{"own": own, "shapes": shapes})
}

func openNamed(t *testing.T, name string, how map[string]any) *machine {
	t.Helper()
	startFarSide(t)
	m := &machine{t: t, name: name}
	a := m.do("open", how)
	m.address, m.uri = fmt.Sprintf("127.0.0.1:%d", a.Port), a.URI
	return m
}

func (m *machine) do(what string, more map[string]any) answer {
	m.t.Helper()
	f := &farSide
	request := map[string]any{"machine": m.name, "do": what}
	for k, v := range more {
		request[k] = v
	}
	f.mu.Lock()
	f.asked++
	request["id"] = f.asked
	waits := make(chan answer, 1)
	f.answers[f.asked] = waits
	line, err := json.Marshal(request)
	if err == nil {
		_, err = f.in.Write(append(line, '\n'))
	}
	f.mu.Unlock()
	if err != nil {
		m.t.Fatal(err)
	}
	select {
	case a := <-waits:
		if a.Error != "" {
			m.t.Fatalf("%s: %s", what, a.Error)
		}
		return a
	case <-f.ended:
		m.t.Fatalf("machine.mjs ended: %s", f.faults.String())
	case <-time.After(patience):
		m.t.Fatalf("machine.mjs did not answer %s within %s", what, patience)
	}
	return answer{}
}

func (m *machine) truth() truth {
	m.t.Helper()
	return m.do("truth", nil).Truth
}

// await waits for a state of the machine that begins with a start; the context bounds it.
func (m *machine) awaitBegun(ctx context.Context, count int) {
	m.t.Helper()
	for {
		farSide.mu.Lock()
		news := farSide.news(m.name)
		farSide.mu.Unlock()
		if len(m.truth().Begun) >= count {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			m.t.Fatalf("%d starts have not begun", count)
		}
	}
}
