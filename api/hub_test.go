package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// keeper is a client that keeps what it is sent, up to its room.
type keeper struct {
	room   int
	frames []frame
	isCut  bool
}

func (k *keeper) send(p *parcel) bool {
	if k.isCut || k.room > 0 && len(k.frames)+len(p.frames) > k.room {
		return false
	}
	k.frames = append(k.frames, p.frames...)
	return true
}
func (k *keeper) cut() { k.isCut = true }

func (k *keeper) names() []string {
	var names []string
	for _, f := range k.frames {
		name := f.name
		if f.name == "log" {
			name = fmt.Sprint(f.at.seq)
		}
		names = append(names, name)
	}
	return names
}

func joined(t *testing.T, h *Hub, k *keeper, wanted topics) *keeper {
	t.Helper()
	_, ok := h.join(&client{connection: k, topics: wanted})
	require.True(t, ok)
	return k
}

func rows(n int) []plant.Entry { return make([]plant.Entry, n) }

func TestTheHubReadsAgainWhatItMissed(t *testing.T) {
	reader := newFakeReader()
	h := NewHub(reader, nil)
	ctx := context.Background()
	h.take(ctx, reader.add(rows(2)...))
	k := joined(t, h, &keeper{}, allTopics)
	lost := reader.add(rows(2)...)
	h.take(ctx, reader.add(rows(1)...)) // 3 and 4 were never shown
	h.take(ctx, lost)                   // and come late
	h.take(ctx, plant.Committed{Fence: reader.fence})
	reader.add(rows(1200)...)
	h.take(ctx, plant.Committed{Fence: reader.fence, Counts: []plant.Count{{Name: "answer"}}}) // a turn without rows tells that there are more
	require.Len(t, k.frames, 3+1200)
	for i, f := range k.frames {
		require.Equal(t, position{"gen-1", int64(i + 3)}, f.at)
	}
	require.False(t, k.isCut)
}

func TestShowNeverWaitsAndLosesNoRow(t *testing.T) {
	reader := newFakeReader()
	h := NewHub(reader, nil)
	ctx := context.Background()
	h.take(ctx, reader.add(rows(1)...))
	k := joined(t, h, &keeper{}, allTopics)
	for range hubRoom + 50 { // nobody takes them, and yet every Show comes back
		h.Show(reader.add(rows(1)...))
	}
	for len(h.shown) > 0 {
		h.take(ctx, <-h.shown)
	}
	require.Len(t, k.frames, hubRoom)
	h.tick(ctx, noon)
	require.Len(t, k.frames, hubRoom+50+1)
	for i, f := range k.frames[:hubRoom+50] {
		require.EqualValues(t, i+2, f.at.seq)
	}
	last := k.frames[hubRoom+50]
	require.Equal(t, "resync", last.name, "what has no id was lost: the client has to read it")
	require.Empty(t, last.id())
	h.tick(ctx, noon)
	require.Len(t, k.frames, hubRoom+50+1, "once")
}

func TestWhatTheHubCannotReadEachClientReadsForItself(t *testing.T) {
	reader := newFakeReader()
	h := NewHub(reader, nil)
	ctx := context.Background()
	h.take(ctx, reader.add(rows(1)...))
	k := joined(t, h, &keeper{}, allTopics)
	reader.add(rows(1)...)
	reader.set(func(f *fakeReader) { f.err = errors.New("away") })
	h.take(ctx, reader.add(rows(1)...))
	require.True(t, k.isCut)
	require.Empty(t, k.frames, "no row after a gap")
	again := joined(t, h, &keeper{}, allTopics)
	h.take(ctx, reader.add(rows(1)...))
	require.Equal(t, []string{"4"}, again.names())
}

func TestANewGenerationEndsAllStreams(t *testing.T) {
	reader := newFakeReader()
	h := NewHub(reader, nil)
	ctx := context.Background()
	h.take(ctx, reader.add(rows(5)...))
	k := joined(t, h, &keeper{}, allTopics)
	reader.set(func(f *fakeReader) { f.fence.Generation = "gen-2" })
	h.take(ctx, reader.add(rows(1)...))
	require.True(t, k.isCut)
	require.Empty(t, k.frames)
	again := joined(t, h, &keeper{}, allTopics)
	h.take(ctx, reader.add(rows(1)...))
	require.Equal(t, position{"gen-2", 7}, again.frames[0].at)
}

func TestAClientWithoutRoomIsCutAndHoldsNobodyUp(t *testing.T) {
	reader := newFakeReader()
	h := NewHub(reader, nil)
	h.take(context.Background(), reader.add(rows(1)...))
	slow, quick := joined(t, h, &keeper{room: 2}, allTopics), joined(t, h, &keeper{}, allTopics)
	h.take(context.Background(), reader.add(rows(2)...))
	h.take(context.Background(), reader.add(rows(2)...))
	require.Equal(t, []string{"2", "3"}, slow.names())
	require.True(t, slow.isCut)
	require.Equal(t, []string{"2", "3", "4", "5"}, quick.names())
	require.False(t, quick.isCut)
}

// What a client has seen of a parcel is passed over, frame by frame; a heartbeat is no row, and a frame without a position
// belongs to what it stands behind.
func TestWhatOfAParcelIsNew(t *testing.T) {
	at := func(seq int64, name string) frame {
		f := jsonFrame(name, seq)
		if seq > 0 {
			f.at = position{"gen-1", seq}
		}
		return f
	}
	three := []frame{at(4, "log"), at(5, "log"), at(6, "log")}
	text := func(frames ...frame) string { return string(pack(frames, nil).bytes) }
	for _, c := range []struct {
		frames []frame
		seen   int64
		rest   string
		then   int64
	}{
		{three, 0, text(three...), 6},
		{three, 3, text(three...), 6},
		{three, 4, text(three[1:]...), 6},
		{three, 6, "", 6},
		{three, 9, "", 9},
		{[]frame{at(6, "heartbeat")}, 6, text(at(6, "heartbeat")), 6},
		{[]frame{at(5, "heartbeat")}, 6, "", 6},
		{[]frame{at(0, "values")}, 6, text(at(0, "values")), 6},
	} {
		rest, then := pack(c.frames, nil).after(c.seen)
		require.Equal(t, c.rest, string(rest), "seen %d", c.seen)
		require.Equal(t, c.then, then, "seen %d", c.seen)
	}
	require.Equal(t, text(three[1]), string(pack(three, func(i int) bool { return i == 1 }).bytes))
}

func TestHeartbeatCarriesThePosition(t *testing.T) {
	reader := newFakeReader()
	h := NewHub(reader, nil)
	ctx := context.Background()
	k := joined(t, h, &keeper{}, topicConfiguration)
	for range 2 * heartbeatTicks {
		h.tick(ctx, noon)
	}
	require.Empty(t, k.frames, "before the loop's first turn nothing is live")
	h.take(ctx, reader.add(rows(3)...))
	for range heartbeatTicks {
		h.tick(ctx, noon)
	}
	require.Len(t, k.frames, 1, "also a client that wants no such row knows where the log is")
	require.Equal(t, "id: gen-1:3\nevent: heartbeat\ndata: {\"generation\":\"gen-1\",\"seq\":3,\"at\":\"2026-01-31T12:00:00.123456Z\"}\n\n", string(k.frames[0].bytes()))
}

func observed(id term.EndpointID, v int64, at time.Time) plant.Change {
	return plant.Change{Move: "Observe", After: &plant.Endpoint{ID: id, DeviceID: "fan", Value: term.Int(v), SampledAt: at, ReceivedAt: at}}
}

func TestValuesAreConflatedWithoutAnID(t *testing.T) {
	reader := newFakeReader()
	h := NewHub(reader, nil)
	ctx := context.Background()
	h.take(ctx, reader.add(rows(1)...))
	h.take(ctx, plant.Committed{Fence: reader.fence, Changes: []plant.Change{observed("fan/x", 0, noon)}}) // nobody is there to see it
	k, other := joined(t, h, &keeper{}, topicDevices), joined(t, h, &keeper{}, topicLinks)
	for v := range int64(100) {
		h.take(ctx, plant.Committed{Fence: reader.fence, Changes: []plant.Change{observed("fan/a", v, noon), observed("fan/b", -v, noon)}})
	}
	configured := observed("fan/c", 1, noon)
	configured.Before = configured.After
	never := plant.Change{After: &plant.Endpoint{ID: "fan/d"}}
	h.take(ctx, plant.Committed{Fence: reader.fence, Changes: []plant.Change{configured, never}})
	h.tick(ctx, noon)
	h.tick(ctx, noon)
	require.Len(t, k.frames, 1)
	require.Empty(t, other.frames)
	require.Equal(t, "values", k.frames[0].name)
	require.Empty(t, k.frames[0].id())
	var got valuesEvent
	require.NoError(t, json.Unmarshal(k.frames[0].data, &got))
	require.Equal(t, []EndpointValue{{EndpointID: "fan/a", DeviceID: "fan", Value: term.Int(99), SampledAt: noon, ReceivedAt: noon},
		{EndpointID: "fan/b", DeviceID: "fan", Value: term.Int(-99), SampledAt: noon, ReceivedAt: noon}}, got.Values)
}

func TestValuesOfManyEndpointsTakeTurns(t *testing.T) {
	var c conflated
	for i := range maxValues + 1 {
		c.put(&plant.Endpoint{ID: term.EndpointID(fmt.Sprintf("d/%d", i))})
	}
	require.Len(t, c.take(maxValues), maxValues)
	c.put(&plant.Endpoint{ID: "d/0"})
	rest := c.take(maxValues)
	require.Len(t, rest, 2)
	require.EqualValues(t, fmt.Sprintf("d/%d", maxValues), rest[0].EndpointID, "the one that waited comes first")
	require.Empty(t, c.take(maxValues))
}

func TestTopicsOfRows(t *testing.T) {
	note := func(k plant.Kind) []plant.Note { return []plant.Note{{Kind: k}} }
	for name, c := range map[string]struct {
		entry plant.Entry
		want  topics
	}{
		"refused command":       {plant.Entry{Type: "SendCommand"}, topicCommands},
		"reading that fired":    {plant.Entry{Type: "TelemetryReceived", Notes: append(note(plant.KindExecution), note(plant.KindIntent)...)}, topicDevices | topicExecutions | topicCommands},
		"timer of a command":    {plant.Entry{Type: "Due", Notes: note(plant.KindIntent)}, topicCommands},
		"link":                  {plant.Entry{Type: "LinkChanged"}, topicLinks},
		"import":                {plant.Entry{Type: "ImportDevices", Notes: note(plant.KindDevice)}, topicConfiguration | topicDevices},
		"rule changed":          {plant.Entry{Type: "ImportDevices", Notes: note(plant.KindRule)}, topicConfiguration},
		"hold":                  {plant.Entry{Type: "DatabaseTravelled", Notes: note(plant.KindHold)}, topicLinks | topicDevices | topicCell},
		"a paused order":        {plant.Entry{Type: "PauseOrder", Notes: note(plant.KindHold)}, topicCell | topicDevices},
		"a move of the robot":   {plant.Entry{Type: "ScheduleTick", Notes: append(note(plant.KindJob), note(plant.KindTask)...)}, topicCell},
		"a refused action":      {plant.Entry{Type: "RobotActionFailed"}, topicCell},
		"a question is opened":  {plant.Entry{Type: "StepTimeout", Notes: append(note(plant.KindQuestion), note(plant.KindAlarm)...)}, topicCell | topicQuestions | topicAlarms},
		"a refused answer":      {plant.Entry{Type: "ResolveManualAction"}, topicCell | topicQuestions},
		"a shelved alarm":       {plant.Entry{Type: "ShelveAlarm", Notes: note(plant.KindAlarm)}, topicAlarms},
		"a plant file":          {plant.Entry{Type: "ImportPlant", Notes: append(note(plant.KindRoute), note(plant.KindEquipment)...)}, topicConfiguration | topicCell},
		"nothing anybody knows": {plant.Entry{Type: "New"}, 0},
		"more than is named":    {plant.Entry{Type: "New", NotesLeftOut: 1}, allTopics},
	} {
		require.Equal(t, c.want|topicLog, topicsOf(&c.entry), name)
	}
	all, err := parseTopics("commands,devices,executions,links,configuration,cell,questions,alarms,log")
	require.NoError(t, err)
	require.Equal(t, allTopics, all)
}

func TestPositions(t *testing.T) {
	p, ok := parsePosition("0190f3a0-0000-7000-8000-000000000001:42")
	require.True(t, ok)
	require.Equal(t, position{"0190f3a0-0000-7000-8000-000000000001", 42}, p)
	require.Equal(t, "0190f3a0-0000-7000-8000-000000000001:42", p.String())
	for _, s := range []string{"", "42", ":42", "g:", "g:-1", "g:+1", "g:01", "g:1x", "g:99999999999999999999", "g: 1"} {
		_, ok := parsePosition(s)
		require.False(t, ok, s)
	}
}
