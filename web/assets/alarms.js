// The alarms by ISA-18.2: not acknowledged first, then acknowledged, then shelved.

import { h, sign } from "./dom.js";
import { alarmsResource, shelved, unseen } from "./header.js";
import { since, span, wall } from "./clock.js";
import { ask, control, perform } from "./act.js";
import { resource } from "./parts.js";
import { t, word } from "./texts.js";

export function badge() {
  const r = alarmsResource().data;
  return r ? unseen(r.items).length : 0;
}

export function view() {
  return resource(alarmsResource(), ({ items }) => {
    const fresh = unseen(items);
    const groups = [
      [t.alarms.groupNew, fresh],
      [t.alarms.groupSeen, items.filter((a) => !fresh.includes(a) && !shelved(a))],
      [t.alarms.groupShelved, items.filter(shelved)],
    ];
    if (!items.length) return h("p", { class: "note" }, sign("done", t.alarms.none));
    return groups
      .filter(([, list]) => list.length)
      .map(([title, list]) => h("div", { key: title }, h("h2", null, title + " (" + list.length + ")"), list.map(alarm)));
  });
}

// alarm: what is new is a filled red square; what is over but not seen is outlined; what was seen is grey.
function alarm(a) {
  const aside = shelved(a),
    fresh = !aside && a.state !== "acknowledged";
  const state = aside
    ? sign("hold", t.alarms.shelvedUntil(wall(a.shelvedUntil, false)))
    : sign(fresh ? "alarm" : "warning", fresh ? (a.active ? t.alarms.unseen : t.alarms.over) : t.alarms.seen, { "data-state": a.state });
  return h(
    "article",
    { key: a.id, class: "panel alarm" + (fresh ? " fresh" : "") + (a.active ? "" : " over"), "data-alarm": a.id, "data-kind": a.kind },
    h("div", { class: "alarm-state" }, state, a.firstOut ? h("div", { class: "first-out", title: t.alarms.firstOutMeans }, t.alarms.firstOut) : null),
    h(
      "div",
      { class: "grow" },
      h("b", null, word(t.alarms.kind, a.kind)),
      " ",
      h("span", { class: "small" }, subject(a)),
      h("div", null, inWords(a.text)),
      h(
        "div",
        { class: "small" },
        wall(a.raisedAt) +
          " · " +
          (a.active ? t.alarms.since(span(since(a.raisedAt))) : t.alarms.ended(span(since(a.clearedAt || a.raisedAt)))) +
          (a.count > 1 ? " · " + t.alarms.times(a.count) : "") +
          (a.ackedBy ? " · " + t.alarms.seen + ": " + a.ackedBy : "") +
          (aside ? " · " + (a.shelveReason || "") + " (" + (a.shelvedBy || "?") + ")" : ""),
      ),
    ),
    h(
      "div",
      { class: "buttons" },
      fresh
        ? control(
            t.alarms.acknowledge,
            () => perform(t.alarms.acknowledge + ": " + word(t.alarms.kind, a.kind) + " " + subject(a), "/alarms/" + encodeURIComponent(a.id) + "/acknowledge", {}),
            { key: "ack" },
          )
        : null,
      a.shelvable && !aside && a.active ? control(t.alarms.shelve, () => shelve(a), { key: "shelve", kind: "quiet" }) : null,
      aside ? control(t.alarms.unshelve, () => unshelve(a), { key: "unshelve", kind: "quiet" }) : null,
    ),
  );
}

function subject(a) {
  return a.subject.replace(/^(equipment|job):/, "");
}

// inWords says the finding that a text begins with as the questions do.
function inWords(text) {
  const [code] = text.split(":", 1);
  return Object.hasOwn(t.finding, code) ? t.finding[code] + text.slice(code.length) : text;
}

function shelve(a) {
  ask({
    title: t.alarms.shelve + ": " + word(t.alarms.kind, a.kind) + " " + subject(a),
    effect: t.alarms.shelveEffect,
    confirm: t.alarms.shelve,
    path: "/alarms/" + encodeURIComponent(a.id) + "/shelve",
    reasonKind: "needed",
    choices: t.reasons.shelve,
    fields: [{ name: "for", kind: "choice", label: t.alarms.duration, value: "15m", options: t.alarms.durations }],
    body: (v) => ({ for: v.for }),
  });
}

function unshelve(a) {
  ask({
    title: t.alarms.unshelve + ": " + word(t.alarms.kind, a.kind) + " " + subject(a),
    effect: t.alarms.unshelveEffect,
    confirm: t.alarms.unshelve,
    path: "/alarms/" + encodeURIComponent(a.id) + "/shelve",
    reasonKind: "needed",
    choices: t.reasons.usual,
    body: () => ({ for: "0s" }),
  });
}
