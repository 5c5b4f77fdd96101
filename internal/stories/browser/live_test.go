package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

func TestThePageGoesLiveAndShowsAPartMove(t *testing.T) {
	s := newSite(t)
	p := s.open("")
	p.is("live")
	p.live()
	require.Equal(t, "ok", value[string](p, `document.querySelector("#database").dataset.state`))
	p.until("the broker's link is up", `document.querySelector("#broker").dataset.state === "up"`)
	p.reads("#life", "1")
	require.Equal(t, "0", value[string](p, `document.querySelector("#open-questions").dataset.count`))
	p.reads("#waiting-for", "nothing to do")

	// What moves is seen where it is: on the dock, in the gripper, in each machine, and counted at the exit.
	value[chromedp.Void](p, `void (window.seen = new Set(), new MutationObserver(() => {
		for (const e of document.querySelectorAll("[data-place]")) {
			const part = e.dataset.part || e.querySelector(".part")?.title;
			if (part) window.seen.add(e.dataset.place.replace(/:\d+$/, "") + " " + part);
		}
	}).observe(document.querySelector("#main"), {subtree: true, childList: true, attributes: true, characterData: true}))`)
	const parts = 3
	s.begin("WO-1", parts)
	p.until("the order's parts are counted at the exit", fmt.Sprintf(`document.querySelector("[data-place='OUT:exit'] .big")?.textContent === "%d of %d"`, parts, parts))
	for n := 1; n <= parts; n++ {
		for _, place := range []string{"ON_EQUIPMENT:lathe", "ON_EQUIPMENT:mill"} {
			require.True(t, value[bool](p, fmt.Sprintf(`window.seen.has("%s WO-1.%d")`, place, n)), "part %d was not seen on %s: %s", n, place,
				value[string](p, `[...window.seen].join(", ")`))
		}
	}
	require.Equal(t, parts, s.completed("WO-1"))

	p.goes("orders/WO-1/WO-1.2")
	p.reads("[data-order='WO-1']", "3 good of 3")
	p.reads("[data-job='WO-1.2']", "good")
	p.reads(".timeline", "FinishJob")
}

// Every section draws itself, on an empty site and after an order, and says where there is nothing to show.
func TestEverySectionDraws(t *testing.T) {
	s := newSite(t)
	p := s.open("")
	p.live()
	visit := func() {
		for _, section := range []string{"cell", "questions", "orders", "devices", "commands", "alarms", "log"} {
			p.goes(section)
			p.until("it has been read", `!document.querySelector("#main").textContent.includes("Reading")`)
			require.NotContains(t, p.text("#main"), "undefined", section)
			require.NotContains(t, p.text("#main"), "Cannot be read", section)
			// 11 mm for a finger in a glove are 42 px of a screen with 96 to the inch.
			require.Empty(t, value[[]string](p, `[...document.querySelectorAll(".control, .choice, .plain, .tab, .count, #main input")]
				.filter((e) => e.getBoundingClientRect().height < 44).map((e) => e.className + " " + e.textContent)`), "too small to tap in "+section)
		}
	}
	visit()
	s.begin("WO-1", 1)
	until(t, "the order is done", func() bool { return s.completed("WO-1") == 1 })
	visit()
	p.goes("log")
	p.reads("table.log", "RobotActionSucceeded")
	require.False(t, value[bool](p, `[...document.querySelectorAll(".tab")].some((a) => a.textContent === "Lab")`), "a product has no lab")
}

// An operator pauses the cell, with a reason, and releases it. The change is shown when the service has told it.
func TestPauseAndRelease(t *testing.T) {
	s := newSite(t)
	p := s.open("cell")
	p.live()
	p.taps(".controls", "Pause cell")
	p.types("#sheet", "night shift ends")
	p.taps("#sheet", "Pause cell")
	p.reads("[data-hold='paused']", "night shift ends")
	p.reads("#notices [data-outcome='accepted']", "Pause cell")
	require.Equal(t, 1, s.logged("PauseCell"))
	p.taps(".controls", "Release cell")
	p.taps("#sheet", "Release cell")
	p.until("the hold is gone", `!document.querySelector("[data-hold='paused']")`)
	require.Equal(t, 1, s.logged("ReleaseCell"))
}

func TestAMachineThatIsCutOff(t *testing.T) {
	s := newSite(t)
	p := s.open("cell")
	p.live()
	p.sees("[data-equipment='mill'][data-status='IDLE']")
	s.plant.Machine("mill").Cut()
	p.sees("[data-equipment='mill'][data-status='OFFLINE']")
	p.reads("[data-equipment='mill'] .status", "OFFLINE for")
	p.reads("[data-equipment='mill']", "last known")
	p.reads("[data-equipment='mill'] .why-offline", "cannot be reached")
	p.reads("#new-alarms", "1 new alarm")
	require.Contains(t, p.text("[data-equipment='lathe']"), "idle", "the others go on")

	p.goes("alarms")
	p.reads("[data-kind='equipment_offline']", "FIRST OUT")
	p.tapsTwice("[data-kind='equipment_offline']", "Acknowledge")
	p.reads("#new-alarms", "0 new alarms")
	p.sees("[data-kind='equipment_offline'] [data-state='acknowledged']")
	require.Equal(t, 1, s.logged("AckAlarm"), "a finger that taps twice sends once")

	// Shelved, with a reason, it is put aside with who and why, and can be brought back before its time.
	p.taps("[data-kind='equipment_offline']", "Shelve")
	p.taps("#sheet", "1 hour")
	require.True(t, value[bool](p, `document.querySelector("#sheet .main").disabled`), "a reason is needed")
	p.taps("#sheet .reason", "Known, repair is ordered")
	p.taps("#sheet .buttons", "Shelve")
	p.reads("[data-kind='equipment_offline']", "shelved until")
	p.reads("[data-kind='equipment_offline']", "Known, repair is ordered")
	p.taps("[data-kind='equipment_offline']", "Bring back")
	p.taps("#sheet .reason", "I looked")
	p.taps("#sheet .buttons", "Bring back")
	p.sees("[data-kind='equipment_offline'] [data-state='acknowledged']")

	require.NoError(t, s.plant.Machine("mill").Restore())
	p.goes("cell")
	p.sees("[data-equipment='mill'][data-status='IDLE']")
}
