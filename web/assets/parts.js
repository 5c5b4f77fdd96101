// Small pieces that several sections draw alike.

import { h, sign } from "./dom.js";
import { overdue } from "./resources.js";
import { since, span } from "./clock.js";
import { t, word } from "./texts.js";

const oldAfter = 3000;

// resource draws what was read, or says that it was not. What could not be brought up to date for three seconds is
// marked as old with its age, though the page itself is live.
export function resource(r, draw, missing) {
  if (r.data === undefined) return h("p", { class: "note" }, r.error ? t.section.failed(r.error) : t.section.loading);
  if (r.data === null) return h("p", { class: "note" }, missing || t.section.empty);
  const age = overdue(r);
  return h(
    "div",
    { class: age > oldAfter ? "old" : "current" },
    age > oldAfter ? h("p", { class: "note note-old" }, sign("warning", t.section.old(span(age)) + (r.error ? " " + r.error : ""))) : null,
    draw(r.data),
  );
}

// holdView says that something is held: shape, word, who, since when and why.
export function holdView(hold, text) {
  return h(
    "div",
    { key: hold.id, class: "hold", "data-hold": hold.hold },
    sign("hold", text || word(t.cell.held, hold.hold), { class: "strong" }),
    h("span", { class: "small" }, t.cell.by(hold.by || "?", span(since(hold.at)))),
    hold.why ? h("div", null, hold.why) : null,
  );
}

const jobSigns = {
  MOVING: "busy",
  PROCESSING: "busy",
  WAITING_UNLOAD: "done",
  WAITING_JUDGEMENT: "question",
  COMPLETED: "done",
  SCRAPPED: "out",
  CANCELLED: "out",
  SUSPENDED: "hold",
  ERROR: "uncertain",
};

export function jobSign(job) {
  return sign(jobSigns[job.shownState] || "empty", word(t.jobState, job.shownState), { "data-state": job.shownState });
}

// stepText says where a part is on its route: "2 of 4 · mill, program 12".
export function stepText(steps, index) {
  if (!steps || !steps.length) return "";
  if (index >= steps.length) return steps.length + " " + t.cell.of + " " + steps.length;
  const s = steps[index];
  return index + 1 + " " + t.cell.of + " " + steps.length + " · " + s.group + (s.program ? ", " + t.cell.program + " " + s.program : "");
}

// figure is a number with its word.
export function figure(label, value, attributes) {
  return h("div", { class: "figure", ...attributes }, h("b", null, String(value)), h("span", { class: "label" }, label));
}

// partId shows a part's id so that where there is little room its end stays, which tells parts and orders apart.
export function partId(id, attributes) {
  const at = id.lastIndexOf(".");
  return h(
    "span",
    { ...attributes, class: "part", title: id },
    at > 0 ? [h("span", { class: "part-order" }, h("bdi", null, id.slice(0, at))), h("span", null, id.slice(at))] : id,
  );
}
