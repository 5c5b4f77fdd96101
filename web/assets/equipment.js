// One machine, robot or tool in detail: how it is reached, what holds it, and whether the cell runs with it.

import { h } from "./dom.js";
import { ask, control } from "./act.js";
import { holdView } from "./parts.js";
import { t, word } from "./texts.js";

export function equipmentDetail({ cell }, id) {
  const e = cell.equipment.find((one) => one.id === id);
  if (!e) return null;
  const path = "/equipment/" + encodeURIComponent(e.id),
    d = e.config.driver;
  const disabled = e.holds.some((hold) => hold.hold === "disabled");
  return h(
    "div",
    { key: "detail:" + e.id, class: "panel detail" },
    h("div", { class: "row" }, h("h2", { class: "grow" }, e.name || e.id), h("a", { class: "plain", href: "#cell" }, t.act.close)),
    h(
      "dl",
      null,
      h("dt", null, t.cell.driver),
      h("dd", null, d.type + " " + (d.address || "")),
      h("dt", null, t.cell.group),
      h("dd", null, e.config.group),
      e.slots.length ? [h("dt", null, t.cell.slots), h("dd", null, e.slots.length + (e.config.batch ? ", " + t.cell.batch : ""))] : null,
      h("dt", null, word(t.cell, e.kind)),
      h("dd", null, word(t.equipmentStatus, e.status)),
    ),
    e.holds.map((hold) => holdView(hold)),
    disabled
      ? control(
          t.cell.enable,
          () =>
            ask({
              title: t.cell.enable + ": " + e.id,
              effect: t.cell.enableEffect(e.id),
              confirm: t.cell.enable,
              path: path + "/enable",
              reasonKind: "needed",
              choices: t.reasons.equipment,
            }),
          { kind: "wide", key: "enable" },
        )
      : control(
          t.cell.disable,
          () =>
            ask({
              title: t.cell.disable + ": " + e.id,
              effect: t.cell.disableEffect(e.id),
              confirm: t.cell.disable,
              path: path + "/disable",
              reasonKind: "needed",
              choices: t.reasons.equipment,
            }),
          { kind: "wide quiet", key: "disable" },
        ),
  );
}
