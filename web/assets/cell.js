// The section of the cell: the drawn line, and beside it what it does now, what it waits for, what holds it, and the
// few things that a person may tell it.

import { h, sign } from "./dom.js";
import { use } from "./resources.js";
import { alarmsResource, questionsResource } from "./header.js";
import { since } from "./clock.js";
import { ask, control } from "./act.js";
import { holdView, resource } from "./parts.js";
import { line, drawPath } from "./cellline.js";
import { equipmentDetail } from "./equipment.js";
import { t, word } from "./texts.js";

export function view([equipment]) {
  const r = use("/cell", ["cell"]),
    orders = use("/orders?limit=100", ["orders"]);
  return resource(
    r,
    (cell) => {
      const known = context(cell, orders.data ? orders.data.items : []);
      return h(
        "div",
        { class: "cell" },
        h("div", { class: "cell-line" }, line(known)),
        h("aside", { class: "cell-side" }, equipment ? equipmentDetail(known, equipment) : null, side(known)),
      );
    },
    t.section.noPlant,
  );
}

export function after(main) {
  drawPath(main);
}

// context is what the pieces of the line look up.
function context(cell, orders) {
  const jobs = new Map();
  for (const row of [cell.buffer, cell.dock]) for (const p of row) for (const j of p.jobs) jobs.set(j.id, j);
  if (cell.gripper) jobs.set(cell.gripper.id, cell.gripper);
  const alarms = alarmsResource().data;
  return {
    cell,
    orders,
    jobs,
    order: new Map(orders.map((o) => [o.id, o])),
    alarm: (kind, subject) => (alarms ? alarms.items.find((a) => a.kind === kind && a.subject === subject && a.active) : undefined),
    questions: questionsResource().data,
  };
}

function side(known) {
  return [
    h("div", { class: "panel", key: "holds" }, h("h2", null, t.cell.holds), holds(known)),
    known.cell.waitingFor ? h("div", { class: "panel", key: "waiting" }, h("h2", null, t.cell.waiting), waiting(known.cell)) : null,
    h("div", { class: "panel controls", key: "controls" }, controls(known)),
  ];
}

function holds({ cell }) {
  const parts = cell.equipment.flatMap((e) => e.holds.map((hold) => ({ e, hold })));
  if (!cell.holds.length && !parts.length) return h("p", { class: "small" }, t.cell.noHolds);
  return [
    cell.holds.map((hold) => holdView(hold)),
    parts.map(({ e, hold }) =>
      holdView(hold, (e.name || e.id) + ": " + (hold.hold === "recovery" ? t.cell.notCompared : word(t.cell.held, hold.hold))),
    ),
  ];
}

function waiting(cell) {
  const reason = cell.waitingFor.replace(/^waiting for /, "");
  const candidates = (cell.plan && cell.plan.candidates) || [];
  return [
    h("div", { id: "waiting-for", key: "reason" }, reason),
    candidates.length
      ? h(
          "details",
          { key: "why" },
          h("summary", null, t.cell.why(candidates.length)),
          h(
            "table",
            { class: "why" },
            h(
              "tbody",
              null,
              candidates.map((c, n) =>
                h("tr", { key: n }, h("td", null, word(t.cell.kind, c.generator)), h("td", null, c.job), h("td", null, c.reason || t.cell.possible)),
              ),
            ),
          ),
          cell.plan.leftOut ? h("p", { class: "small" }, t.cell.leftOut(cell.plan.leftOut)) : null,
        )
      : null,
  ];
}

// comparingTakes: after a start or a new hold the machines are read first, and have to stand still; until then that
// nothing is asked means nothing.
const comparingTakes = 5000;

function controls({ cell, questions }) {
  const paused = cell.holds.some((hold) => hold.hold === "paused");
  const recovery = questions && questions.held;
  return [
    recovery ? h("div", { key: "recovery", class: "recovery" }, recoveryControls(cell, questions)) : null,
    paused
      ? control(
          t.cell.release,
          () => ask({ title: t.cell.release, effect: t.cell.releaseEffect, confirm: t.cell.release, path: "/cell/release", reasonKind: "free" }),
          { kind: "wide", key: "release" },
        )
      : control(
          t.cell.pause,
          () => ask({ title: t.cell.pause, effect: t.cell.pauseEffect, confirm: t.cell.pause, path: "/cell/pause", reasonKind: "free" }),
          { kind: "wide", key: "pause" },
        ),
    control(t.cell.refill, () => ask({ title: t.cell.refill, effect: t.cell.refillEffect, path: "/cell/refill", reasonKind: "none" }), {
      kind: "wide quiet",
      key: "refill",
    }),
  ];
}

function recoveryControls(cell, questions) {
  const hold = cell.holds.find((one) => one.hold === "recovery");
  if (!questions.confirmable)
    return h(
      "p",
      null,
      sign("question", t.cell.confirmBlocked(questions.blocking)),
      " ",
      h("a", { href: "#questions", class: "control wide" }, t.tabs.questions),
    );
  const unread = cell.equipment.some((e) => e.holds.some((one) => one.hold === "recovery") && !e.holds.some((one) => one.hold === "disabled"));
  if (unread || (hold && since(hold.at) < comparingTakes)) return h("p", null, sign("busy", t.cell.comparing));
  const sheet = (release, title) => () =>
    ask({
      title,
      effect: t.cell.confirmEffect,
      confirm: title,
      path: "/recovery/confirm",
      reasonKind: "needed",
      choices: t.reasons.recovery,
      body: () => ({ release }),
    });
  return [
    control(t.cell.confirm, sheet(true, t.cell.confirm), { kind: "wide main", key: "confirm-recovery" }),
    control(t.cell.confirmPaused, sheet(false, t.cell.confirmPaused), { kind: "wide quiet", key: "confirm-paused" }),
  ];
}
