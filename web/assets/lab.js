// The demo's panel for breaking the simulated plant. It is there only when the service has such a plant.

import { h, sign } from "./dom.js";
import { read } from "./requests.js";
import { onLink } from "./stream.js";
import { use, invalidate } from "./resources.js";
import { control, perform } from "./act.js";
import { resource } from "./parts.js";
import { changed } from "./paint.js";
import { t } from "./texts.js";

const again = 2000; // the plant changes by itself: a fault may have had its one strike
let present = false;
let seen = false; // the section is on the screen

export function there() {
  return present;
}

// look asks once for each connection: a product without a simulated plant answers that there is no such thing.
async function look() {
  try {
    present = Array.isArray(await read("/lab/faults", true));
  } catch (fault) {
    if (fault.status === 404) present = false;
  }
  changed();
}

export function start() {
  onLink((now) => {
    if (now.live) look();
  });
  setInterval(() => {
    if (seen) invalidate(new Set(["lab"]));
    seen = false;
    changed();
  }, again);
}

export function view() {
  seen = true;
  return [
    h("h2", { key: "title" }, t.lab.title),
    h("p", { class: "small", key: "note" }, t.lab.note),
    h(
      "div",
      { key: "groups" },
      resource(use("/lab/faults", ["lab"], true), (faults) => {
        const groups = new Map();
        for (const f of faults) groups.set(f.group, [...(groups.get(f.group) || []), f]);
        return faults.length
          ? h(
              "div",
              { class: "cards narrow" },
              [...groups].map(([name, list]) => h("div", { key: name, class: "panel" }, h("h3", null, name), list.map(fault))),
            )
          : h("p", { class: "note" }, t.lab.none);
      }),
    ),
  ];
}

function fault(f) {
  const set = (on) => async () => {
    await perform(
      f.group + ", " + f.label + (f.kind === "switch" ? ": " + (on ? t.lab.on : t.lab.off) : ""),
      "/lab/faults/" + encodeURIComponent(f.id),
      { on },
      { outside: true },
    );
    invalidate(new Set(["lab"]));
    changed();
  };
  return h(
    "div",
    { key: f.id, class: "fault row", "data-fault": f.id, "data-on": String(f.on) },
    h("div", { class: "grow" }, f.label, f.on ? h("div", null, sign("warning", t.lab.on, { class: "strong" })) : null),
    f.kind === "once"
      ? control(t.lab.once, set(true), { key: "once", outside: true })
      : control(f.on ? t.lab.switchOff : t.lab.switchOn, set(!f.on), { key: "switch", outside: true }),
  );
}
