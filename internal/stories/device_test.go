package stories

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/embedded"
)

// device is a device made of mosquitto_sub, which hears, and mosquitto_pub, which speaks.
type device struct {
	t      testing.TB
	s      *site
	serial string
	heard  chan request
}

// request is an RPC as mosquitto_sub shows it.
type request struct {
	Topic, ResponseTopic, Correlation string
	QoS, Retained                     string
	ExpirySeconds                     int
	Payload                           string
	Body                              struct {
		CommandID  string          `json:"commandId"`
		Method     string          `json:"method"`
		Params     json.RawMessage `json:"params"`
		SentAt     time.Time       `json:"sentAt"`
		DeadlineAt time.Time       `json:"deadlineAt"`
		Attempt    int             `json:"attempt"`
	}
}

// device connects one that listens for commands and says, retained as the contract has it, that it is online.
func (s *site) device(serial string) *device {
	s.t.Helper()
	d := &device{t: s.t, s: s, serial: serial, heard: make(chan request, 64)}
	d.listen()
	d.say("status", map[string]any{"online": true, "bootId": "boot-1", "capabilities": []string{"dedupe", "clock"}}, "-r")
	return d
}

// shown is what mosquitto_sub prints of a message: topic, QoS, retained, response topic, correlation data,
// message expiry, payload.
const shown = "%t\t%q\t%r\t%R\t%D\t%E\t%p"

func (d *device) listen() {
	d.t.Helper()
	host, port, err := net.SplitHostPort(d.s.broker.Address())
	require.NoError(d.t, err)
	// One SUBSCRIBE takes both topics, so when the retained message of the first comes, the second stands too.
	// --retain-as-published shows the flag as it was sent.
	ready := "ready/" + d.serial
	require.NoError(d.t, d.s.publish(ready, []byte("1"), "-r"))
	sub := client(d.t, context.Background(), "mosquitto_sub", "-V", "5", "-h", host, "-p", port, "-i", "device-"+d.serial, "-q", "1",
		"-t", ready, "-t", "surehand/v1/"+d.serial+"/rpc/request", "--retain-as-published", "-F", shown)
	sub.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	sub.Stderr = os.Stderr
	out, err := sub.StdoutPipe()
	require.NoError(d.t, err)
	require.NoError(d.t, sub.Start())
	read := make(chan struct{})
	d.t.Cleanup(func() {
		_ = sub.Process.Kill() // it may have ended with its broker
		<-read
		_ = sub.Wait()
	})
	subscribed := make(chan struct{}, 8)
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fields := strings.Split(lines.Text(), "\t")
			switch {
			case len(fields) != 7:
				d.t.Errorf("mosquitto_sub printed %q", lines.Text())
			case fields[0] == ready:
				subscribed <- struct{}{}
			default:
				d.heard <- parseRequest(fields)
			}
		}
	}()
	select {
	case <-subscribed:
	case <-time.After(patience):
		d.t.Fatalf("mosquitto_sub of %s did not subscribe within %s", d.serial, patience)
	}
}

func parseRequest(f []string) request {
	r := request{Topic: f[0], QoS: f[1], Retained: f[2], ResponseTopic: f[3], Correlation: f[4], Payload: f[6]}
	r.ExpirySeconds, _ = strconv.Atoi(f[5])        // 0, which no test accepts
	_ = json.Unmarshal([]byte(r.Payload), &r.Body) // empty, which no test accepts
	return r
}

// hears waits for the next command on the device's topic.
func (d *device) hears() request {
	d.t.Helper()
	select {
	case r := <-d.heard:
		return r
	case <-time.After(patience):
		d.t.Fatalf("%s heard no command within %s", d.serial, patience)
		return request{}
	}
}

// say publishes JSON on one of the device's channels and returns when the broker has it.
func (d *device) say(channel string, body any, flags ...string) {
	d.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(d.t, err)
	require.NoError(d.t, d.s.publish("surehand/v1/"+d.serial+"/"+channel, text, flags...))
}

// acks accepts a command, in answer to this request.
func (d *device) acks(r request) {
	d.t.Helper()
	d.answers(r, map[string]any{"commandId": r.Body.CommandID, "status": "accepted", "resultCode": "ok"})
}

func (d *device) answers(r request, body map[string]any) {
	d.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(d.t, err)
	require.NoError(d.t, d.s.publish(r.ResponseTopic, text, "-D", "publish", "correlation-data", r.Correlation))
}

// reports says what the command made of the device.
func (d *device) reports(r request) {
	d.t.Helper()
	d.say("state", map[string]any{"commandId": r.Body.CommandID, "reportedState": r.Body.Params, "appliedAt": time.Now().UTC()})
}

// obeys is the whole of a good device: ack, then the report of the real state.
func (d *device) obeys(r request) {
	d.t.Helper()
	d.acks(r)
	d.reports(r)
}

// reading is one sample. Its time is its identity.
func reading(at time.Time, values map[string]any) map[string]any {
	return map[string]any{"ts": at.UTC(), "values": values}
}

// senses publishes a reading of the farm's sensor taken now.
func (s *site) senses(values map[string]any) {
	s.t.Helper()
	s.sample(reading(time.Now(), values))
}

// sample publishes a reading, or an array of them, of the farm's sensor.
func (s *site) sample(body any, flags ...string) {
	s.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(s.t, err)
	require.NoError(s.t, s.publish("surehand/v1/sensor-1/telemetry", text, flags...))
}

// publish hands bytes to the broker at QoS 1 and returns when it has taken them.
func (s *site) publish(topic string, payload []byte, flags ...string) error {
	s.t.Helper()
	host, port, err := net.SplitHostPort(s.broker.Address())
	require.NoError(s.t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	pub := client(s.t, ctx, "mosquitto_pub", append([]string{"-V", "5", "-h", host, "-p", port, "-q", "1", "-t", topic, "-s"}, flags...)...)
	pub.Stdin = bytes.NewReader(payload)
	out, err := pub.CombinedOutput()
	if said := strings.TrimSpace(string(out)); err == nil && said != "" {
		err = errors.New(said) // a refusal of the broker is only printed
	} else if err != nil {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return err
}

// client is one of mosquitto's own clients, found or brought; it plays the devices of these tests.
func client(t testing.TB, ctx context.Context, name string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := embedded.FindMosquittoClient(ctx, name, nil)
	require.NoError(t, err)
	return program.Command(ctx, args...)
}
