// The questions that only a person can answer: one card each. An answer is chosen first and confirmed then, with a
// reason, and is bound to the question as it was shown when it was chosen.

import { h, sign } from "./dom.js";
import { put, use } from "./resources.js";
import { questionsResource } from "./header.js";
import { since, span } from "./clock.js";
import { control, perform, reasonField } from "./act.js";
import { resource } from "./parts.js";
import { changed } from "./paint.js";
import { t, word } from "./texts.js";

// drafts are what a person has begun to answer, by question: the word, the version and hash that were seen, the reason.
const drafts = new Map();
const draftsKept = 100;

export function badge() {
  const r = questionsResource().data;
  return r ? r.findings.length : 0;
}

export function view() {
  return resource(questionsResource(), (recovery) => [
    recovery.held
      ? h(
          "div",
          { key: "held", class: "panel row" },
          sign("hold", t.questions.recoveryOpen, { class: "grow" }),
          h("a", { class: "control", href: "#cell" }, t.questions.toCell),
        )
      : null,
    recovery.findings.length
      ? h("div", { key: "cards", class: "cards" }, recovery.findings.map(card))
      : h("p", { class: "note", key: "none" }, sign("done", t.questions.none)),
  ]);
}

function draftOf(q) {
  let d = drafts.get(q.id);
  if (!d) {
    if (drafts.size >= draftsKept) drafts.delete(drafts.keys().next().value);
    d = { word: "", version: 0, hash: "", reason: "", changed: false, sending: false };
    drafts.set(q.id, d);
  }
  // What was chosen was chosen about another question: the person has to look again. The reason is kept.
  if (d.word && (d.version !== q.version || d.hash !== q.hash) && !d.sending) Object.assign(d, { word: "", changed: true });
  return d;
}

// few answers may leave a person without the one that is true.
const few = 2;
const widens = new Set([
  "action_unknown",
  "part_missing",
  "gripper_empty",
  "job_slot_mismatch",
  "slot_without_job",
  "job_in_two_places",
  "shared_buffer_place",
  "buffer_place_range",
  "part_unknown",
  "gripper_part_unknown",
  "unreachable",
  "equipment_fault",
  "signal_flapping",
  "echo_unknown",
  "action_failed",
]);

function about(q) {
  const [kind, ...rest] = q.subject.split(":");
  const task = q.taskId ? use("/tasks/" + encodeURIComponent(q.taskId)).data : null;
  const subject = q.subject === "cell" ? t.tabs.cell.toLowerCase() : kind === "job" || kind === "equipment" ? rest.join(":") : q.subject;
  return [h("b", null, q.jobId || (task && task.equipmentId) || subject), task ? ", " + t.questions.action(task.actionNo) : ""];
}

function card(q) {
  const d = draftOf(q);
  const chosen = q.answers.find((a) => a.word === d.word);
  return h(
    "article",
    { key: q.id, class: "panel card", "data-question": q.id, "data-kind": q.kind },
    h("h2", null, sign("question", word(t.finding, q.kind))),
    h(
      "p",
      null,
      t.questions.about + " ",
      about(q),
      h("span", { class: "small" }, " · " + t.questions.asked(span(since(q.openedAt)))),
      q.blocksRecovery ? h("span", { class: "small strong" }, " · " + t.questions.blocks) : null,
    ),
    h(
      "dl",
      { class: "says" },
      h("dt", null, t.questions.record),
      h("dd", null, q.record),
      h("dt", null, t.questions.machine),
      h(
        "dd",
        null,
        q.machine || t.questions.machineNone,
        q.readings.map((r) => h("div", { key: r.equipment, class: "small" }, t.questions.steady(r.equipment, span(since(r.at))))),
      ),
    ),
    d.changed ? h("p", { class: "notice notice-refused", role: "alert" }, sign("warning", t.questions.changed)) : null,
    h("div", { class: "label" }, t.questions.choose),
    h(
      "div",
      { class: "answers" },
      q.answers.map((a) => answer(q, d, a)),
    ),
    q.answers.length <= few && widens.has(q.kind) ? h("p", { class: "small" }, t.questions.mayWiden) : null,
    chosen ? confirmation(q, d, chosen) : null,
  );
}

function answer(q, d, a) {
  const text = h(
    "span",
    null,
    h("b", null, word(t.answers, a.word)),
    h("span", { class: "small" }, a.effect),
    a.word === q.suggested ? h("span", { class: "suggested" }, "★ " + t.questions.suggested) : null,
  );
  const pressed = d.word === a.word;
  return h(
    "div",
    { key: a.word, class: "answer" + (pressed ? " pressed" : ""), "data-answer": a.word },
    control(
      [sign(pressed ? "done" : "empty", ""), text],
      () => {
        Object.assign(d, { word: pressed ? "" : a.word, version: q.version, hash: q.hash, changed: false });
        changed(true);
      },
      { kind: "answer-button", off: d.sending },
    ),
  );
}

function confirmation(q, d, chosen) {
  const lacking = d.reason.trim() === "";
  return h(
    "div",
    { class: "confirmation", key: "confirmation" },
    h("p", null, t.questions.chosen + ": ", h("b", null, word(t.answers, chosen.word)), ". ", chosen.effect),
    reasonField(d, t.reasons.answer, true),
    h(
      "div",
      { class: "buttons" },
      h(
        "button",
        {
          type: "button",
          class: "plain",
          onclick: () => {
            d.word = "";
            changed(true);
          },
        },
        t.questions.change,
      ),
      control(d.sending ? t.act.pending : t.questions.confirm(word(t.answers, chosen.word)), () => confirm(q, d), {
        kind: "main",
        off: lacking || d.sending,
        key: "confirm",
      }),
    ),
  );
}

async function confirm(q, d) {
  d.sending = true;
  const what = word(t.finding, q.kind) + ": " + word(t.answers, d.word);
  const outcome = await perform(what, "/manual-actions/" + encodeURIComponent(q.id) + "/answer", {
    version: d.version,
    hash: d.hash,
    answer: d.word,
    reason: d.reason.trim(),
  });
  d.sending = false;
  if (outcome.current) {
    put("/recovery", (recovery) => ({ ...recovery, findings: recovery.findings.map((one) => (one.id === q.id ? outcome.current : one)) }));
    Object.assign(d, { word: "", changed: true });
  }
  changed(true);
}
