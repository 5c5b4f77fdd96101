package browser

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What people and devices write is text on the page, whatever it looks like.
func TestMarkupIsShownAsText(t *testing.T) {
	s := newSite(t)
	const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
	s.accepts("/configuration/import", "text/yaml", `
organisations: [{id: acme, name: Acme}]
farms: [{id: farm, organisation: acme, name: Farm}]
profiles:
  - {id: valve, name: Valve, class: A, endpoints: [{key: open, kind: actuator, type: bool, writable: true, action: absolute, binding: {method: set, param: open}}]}
devices:
  - {id: valve, farm: farm, profile: valve, serial: valve-1, name: '`+`<img src=x onerror="document.title=1">`+`'}
`)
	s.accepts("/orders", "application/json", `{"id":"WO-1","route":"housing","quantity":1,"product":`+quote(evil)+`}`)
	s.accepts("/cell/pause", "application/json", `{"reason":`+quote(evil)+`}`)
	p := s.open("cell")
	p.live()
	p.reads("[data-hold='paused']", evil)
	p.goes("orders/WO-1")
	p.reads(".detail h2", evil)
	p.goes("devices")
	p.reads("[data-device='valve']", `<img src=x`)
	p.goes("log")
	p.reads("table.log", "PauseCell")
	p.goes("orders/" + `%3Cimg%20src%3Dx%3E`) // from the address itself
	p.sees(".section-orders")
	require.Zero(t, value[int](p, `document.querySelectorAll("img, #main script").length`))
	require.NotContains(t, value[string](p, `document.title`), "owned")
}
