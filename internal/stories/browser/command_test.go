package browser

import (
	"testing"

	"github.com/stretchr/testify/require"
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
