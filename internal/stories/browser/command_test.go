package browser

import (
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/simulator"
)

// A command by hand to a device that has never been heard: it is taken and waits, is shown so, and can be taken back.
func TestACommandByHand(t *testing.T) {
	s := newSite(t)
	s.accepts("/configuration/import", "text/yaml", `
organisations: [{id: acme, name: Acme}]
farms: [{id: farm, organisation: acme, name: Farm}]
profiles:
  - {id: valve, name: Valve, class: A, endpoints: [{key: open, kind: actuator, type: bool, writable: true, action: absolute, binding: {method: set, param: open}}]}
devices: [{id: valve, farm: farm, profile: valve, serial: valve-1, name: Valve}]
`)
	p := s.open("devices/valve")
	p.live()
	p.sees("[data-device='valve'] [data-presence='never']")
	p.taps(".endpoint", "On")
	p.reads("#sheet", "counts as done only with proof")
	p.taps("#sheet .buttons", "On")
	p.sees(".detail [data-command][data-state='pending_dispatch']")
	p.reads(".detail [data-command]", "the device has not been heard")

	p.reads("#notices [data-outcome='under_way']", "valve/open")
	p.until("the sheet is closed", `!document.getElementById("sheet").open`)
	p.taps(".detail", "valve/open")
	p.sees(".section-commands .timeline")
	require.Contains(t, p.text(".section-commands .detail"), "No proof, so not called done")
	p.taps(".section-commands .detail", "Cancel command")
	p.taps("#sheet .buttons", "Cancel command")
	p.sees(".section-commands [data-command][data-state='failed']")
}

// A device took a command and never said more: uncertain is marked, holds its endpoint, and a person who looked ends it.
func TestAVerdictOnAnUncertainCommand(t *testing.T) {
	s := newSite(t)
	d, err := simulator.NewDevice(simulator.Options{Serial: "valve-1", BrokerURL: s.broker.URL(), Class: simulator.ClassA,
		Endpoints: []simulator.Endpoint{{Key: "open", Actuator: true, Type: simulator.Bool, Initial: false}}, Faults: simulator.Faults{AckWithoutApply: 1}})
	require.NoError(t, err)
	s.accepts("/configuration/import", "text/yaml", `
organisations: [{id: acme, name: Acme}]
farms: [{id: farm, organisation: acme, name: Farm}]
profiles:
  - {id: valve, name: Valve, class: A, timing: {ackTimeout: 2s, reconciliationWindow: 1s, maxAttempts: 1}, endpoints: [{key: open, kind: actuator, type: bool, writable: true, action: absolute, binding: {method: set, param: open}}]}
devices: [{id: valve, farm: farm, profile: valve, serial: valve-1, name: Valve}]
`)
	d.Start()
	t.Cleanup(d.Stop)
	p := s.open("devices/valve")
	p.live()
	p.taps(".endpoint", "On")
	p.tapsTwice("#sheet .buttons", "On")
	p.sees(".detail [data-command][data-state='uncertain']")
	require.Equal(t, 1, s.logged("SendCommand"), "a finger that taps twice sends once")
	p.taps(".detail", "valve/open")
	p.reads(".section-commands .detail", "UNCERTAIN")
	p.reads(".section-commands .detail", "No proof, so not called done")
	p.taps(".section-commands .detail", "It was not applied")
	require.True(t, value[bool](p, `document.querySelector("#sheet .main").disabled`), "a reason is needed")
	p.taps("#sheet .choices", "I looked at the device")
	p.taps("#sheet .buttons", "It was not applied")
	p.sees(".section-commands [data-command][data-state='failed']")
	require.Equal(t, 1, s.logged("JudgeCommand"))
}
