// Draws what happened to one thing: a command, an order, a part. The proof of a command is marked.

import { h, shape, sign } from "./dom.js";
import { wall } from "./clock.js";
import { t, word } from "./texts.js";

const shownRows = 200;

const rowSigns = { decided: "empty", attempt: "arrow", attempt_ended: "arrow", receipt: "ok", move: "done", action: "busy", question: "question" };

function text(item) {
  const d = item.detail || {};
  switch (item.kind) {
    case "decided":
      return t.timeline.decided;
    case "attempt":
      return t.timeline.attempt(d.number);
    case "attempt_ended":
      return word(t.timeline.attempt_ended, item.text);
    case "receipt":
      return [word(t.commands.receipt, item.text), d.reason, word(t.commands.correlation, d.correlation || "none")].filter(Boolean).join(" · ");
    case "action":
      return item.text + (d.actionNo ? " · " + t.cell.action(d.actionNo) : "");
    case "question":
      return t.timeline.question + " · " + word(t.finding, item.text);
  }
  return item.text;
}

function way(item) {
  if (!item.from && !item.to) return "";
  return item.from && item.to && item.from !== item.to ? item.from + " → " + item.to : item.to || item.from;
}

function extra(item) {
  const d = item.detail || {};
  const bytes = d.payload || d.params;
  const why = d.plan && d.plan.why;
  return [
    d.actor ? h("span", { class: "small" }, " " + t.timeline.by(d.actor)) : null,
    why ? h("div", { class: "small" }, why) : null,
    bytes ? h("details", null, h("summary", null, t.timeline.bytes), h("code", null, bytes)) : null,
  ];
}

// timeline draws the items; proof is the id of the receipt that proves a command.
export function timeline(items, proof) {
  if (!items.length) return h("p", { class: "note" }, t.timeline.none);
  return h(
    "ol",
    { class: "timeline" },
    items.slice(-shownRows).map((item, n) => {
      const proves = proof && item.detail && item.detail.id === proof;
      return h(
        "li",
        { key: n, class: "event event-" + item.kind + (proves ? " proof" : "") },
        h("time", null, wall(item.at) + "." + (item.at.split(".")[1] || "000").replace("Z", "").padEnd(3, "0").slice(0, 3)),
        proves ? sign("done", t.commands.proof, { class: "strong" }) : shape(rowSigns[item.kind] || "empty"),
        h("div", { class: "grow" }, h("span", null, text(item)), way(item) ? h("b", { class: "way" }, way(item)) : null, extra(item)),
      );
    }),
  );
}
