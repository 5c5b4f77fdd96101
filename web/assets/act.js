// Everything that changes something goes through here: a control that works only while the page is live, a sheet that
// asks once more and for a reason, and the notice of what became of it. Nothing is shown as done because it was tapped.

import { h, patch, shape } from "./dom.js";
import { mayWrite, send } from "./requests.js";
import { changed } from "./paint.js";
import { t } from "./texts.js";

const noticesKept = 3;
const acceptedShownFor = 5000;

const underWay = new Map(); // writes that wait for their answer
const notices = []; // newest first: {id, outcome, what, again}
let nextNotice = 1;
let sheet = null; // the one question that is open

// control is a button that changes something.
export function control(label, onclick, { kind = "", off = false, key, title, outside = false } = {}) {
  return h(
    "button",
    {
      type: "button",
      key,
      title,
      class: "control " + kind,
      disabled: off || !mayWrite(outside),
      onclick: () => {
        if (mayWrite(outside)) onclick();
      },
    },
    label,
  );
}

// perform sends one write and shows what becomes of it. what is the write in words. The same one is not sent again while
// its answer is waited for: a finger taps twice sooner than the button is drawn anew.
export function perform(what, path, body, options = {}) {
  const same = path + " " + JSON.stringify(body || {});
  if (!underWay.has(same)) underWay.set(same, carryOut(what, path, body, options).finally(() => underWay.delete(same)));
  return underWay.get(same);
}

async function carryOut(what, path, body, options) {
  const notice = { id: nextNotice++, what, outcome: { kind: "pending" } };
  notices.unshift(notice);
  notices.length = Math.min(notices.length, noticesKept);
  changed(true);
  const outcome = await send(path, body, options);
  notice.outcome = outcome;
  // The same request with the same key is the same request: the server answers with what became of it, and does it
  // only if it never came. Only a person may ask so, and only while the page is live. The demo's plant knows no keys.
  if (options.outside) notice.unknown = t.lab.noAnswer(what);
  else if (outcome.kind === "unknown")
    notice.again = () => {
      dismiss(notice);
      return perform(what, path, body, { ...options, key: outcome.key });
    };
  if (outcome.kind === "accepted" || outcome.kind === "under_way" || (options.outside && outcome.kind === "unknown")) setTimeout(() => dismiss(notice), acceptedShownFor);
  changed(true);
  return outcome;
}

function dismiss(notice) {
  const at = notices.indexOf(notice);
  if (at >= 0) notices.splice(at, 1);
  changed();
}

function noticeText({ what, unknown, outcome: o }) {
  switch (o.kind) {
    case "accepted":
      return t.act.accepted(what);
    case "under_way":
      return t.act.underWay(what);
    case "in_progress":
      return t.act.inProgress(what);
    case "refused":
      return t.act.refused(what, o.text || o.code);
    case "not_sent":
      return t.act.notSent(what);
    case "unknown":
      return unknown || t.act.unknown(what);
  }
  return what + ": " + t.act.pending;
}

const noticeShapes = {
  accepted: "done",
  under_way: "busy",
  refused: "warning",
  not_sent: "warning",
  unknown: "uncertain",
  in_progress: "busy",
  pending: "busy",
};

function noticeView(notice) {
  const kind = notice.outcome.kind;
  return h(
    "div",
    { key: notice.id, class: "notice notice-" + kind, "data-outcome": kind },
    shape(noticeShapes[kind]),
    h("span", { class: "grow" }, noticeText(notice)),
    notice.again ? control(t.act.askAgain, notice.again) : null,
    kind === "pending" ? null : h("button", { type: "button", class: "plain", onclick: () => dismiss(notice) }, t.act.close),
  );
}

// reasonField offers a short list and free text. holder keeps the text, so that it survives a refused answer.
export function reasonField(holder, choices, needed) {
  return h(
    "div",
    { class: "reason" },
    h("div", { class: "label" }, needed ? t.act.reasonNeeded : t.act.reasonFree),
    h(
      "div",
      { class: "choices" },
      choices.map((text) =>
        h(
          "button",
          {
            type: "button",
            key: text,
            class: "choice",
            "aria-pressed": String(holder.reason === text),
            disabled: !mayWrite(),
            onclick: (event) => {
              holder.reason = text;
              const field = event.currentTarget.closest(".reason").querySelector("input");
              field.value = text;
              changed(true);
            },
          },
          text,
        ),
      ),
    ),
    h("input", {
      type: "text",
      maxlength: "300",
      "aria-label": t.act.reason,
      placeholder: t.act.other,
      autocomplete: "off",
      once: { value: holder.reason || "" },
      oninput: (event) => {
        holder.reason = event.currentTarget.value;
        changed();
      },
    }),
  );
}

// ask opens a sheet: what will happen, fields, a reason, and one button that does it.
//   title, effect, confirm (label), path, body(fields) → object, reasonKind: "none", "free" or "needed", choices, fields
// A field is {name, label, kind: "choice" | "number" | "text", options, value, min, max}.
export function ask(question) {
  const values = {};
  for (const f of question.fields || []) values[f.name] = f.value;
  sheet = { ...question, values, reason: "", sending: false, outcome: null, id: nextNotice++ };
  changed(true);
}

function closeSheet() {
  sheet = null;
  changed(true);
}

async function confirmSheet() {
  const asked = sheet;
  asked.sending = true;
  const body = asked.body ? asked.body(asked.values) : {};
  const reason = asked.reason.trim();
  if (reason !== "") body.reason = reason;
  const path = typeof asked.path === "function" ? asked.path(asked.values) : asked.path;
  const outcome = await perform(asked.title, path, body, asked.options);
  asked.sending = false;
  asked.outcome = outcome;
  if (sheet === asked && outcome.kind !== "refused" && outcome.kind !== "not_sent") closeSheet();
  else changed(true);
}

function fieldView(f, values) {
  const set = (v) => {
    values[f.name] = v;
    changed(true);
  };
  if (f.kind === "choice") {
    return h(
      "div",
      { class: "field", key: f.name },
      h("div", { class: "label" }, f.label),
      h(
        "div",
        { class: "choices" },
        Object.entries(f.options).map(([value, label]) =>
          h(
            "button",
            { type: "button", key: value, class: "choice", "aria-pressed": String(values[f.name] === value), onclick: () => set(value) },
            label,
          ),
        ),
      ),
    );
  }
  return h(
    "label",
    { class: "field", key: f.name },
    h("span", { class: "label" }, f.label),
    h("input", {
      type: f.kind === "number" ? "number" : "text",
      min: f.min,
      max: f.max,
      step: f.step,
      inputmode: f.kind === "number" ? "decimal" : "text",
      autocomplete: "off",
      maxlength: "64",
      once: { value: f.value ?? "" },
      oninput: (event) => set(event.currentTarget.value),
    }),
  );
}

function sheetView() {
  const s = sheet;
  const lacking =
    (s.reason.trim() === "" && s.reasonKind === "needed") || (s.fields || []).some((f) => f.needed && String(s.values[f.name] ?? "").trim() === "");
  return h(
    "form",
    { key: s.id, class: "sheet", onsubmit: (event) => event.preventDefault() },
    h("h2", null, s.title),
    s.effect ? h("p", { class: "effect" }, s.effect) : null,
    (s.fields || []).map((f) => fieldView(f, s.values)),
    s.reasonKind === "needed" || s.reasonKind === "free" ? reasonField(s, s.choices || t.reasons.usual, s.reasonKind === "needed") : null,
    s.outcome && s.outcome.kind === "refused"
      ? h(
          "p",
          { class: "notice notice-refused", role: "alert" },
          shape("warning"),
          h("span", null, t.act.refused(s.title, s.outcome.text || s.outcome.code)),
        )
      : null,
    h(
      "div",
      { class: "buttons" },
      h("button", { type: "button", class: "plain", onclick: closeSheet }, t.act.cancel),
      control(s.sending ? t.act.pending : s.confirm || t.act.confirm, confirmSheet, { kind: "main", off: s.sending || lacking, key: "confirm" }),
    ),
  );
}

// view draws the notices and the open sheet, which lie above every section.
export function view() {
  patch(document.getElementById("notices"), notices.map(noticeView));
  const dialog = document.getElementById("sheet");
  patch(dialog, sheet ? [sheetView()] : []);
  if (sheet && !dialog.open) dialog.showModal();
  if (!sheet && dialog.open) dialog.close();
}

export function start() {
  document.getElementById("sheet").addEventListener("cancel", (event) => {
    event.preventDefault();
    closeSheet();
  });
}
