// The event log as it comes, newest first, bounded.

import { h } from "./dom.js";
import { onEvent } from "./stream.js";
import { read } from "./requests.js";
import { topicsOf } from "./resources.js";
import { wall } from "./clock.js";
import { changed } from "./paint.js";
import { t } from "./texts.js";

const kept = 500;
const shownRows = 200;

let rows = []; // newest first, by seq
let generation = "";
let topic = "all";
let text = "";
let still = null; // the rows as they were when a person held them

function add(row) {
  const at = rows.findIndex((one) => one.seq <= row.seq);
  if (at >= 0 && rows[at].seq === row.seq) return;
  if (at < 0) rows.push(row);
  else rows.splice(at, 0, row);
  if (rows.length > kept) rows.length = kept;
}

async function fill() {
  try {
    for (const row of (await read("/log?limit=100")).items) add(row);
    changed();
  } catch {
    // The rows that come by the stream are shown all the same; the next connection asks again.
  }
}

export function start() {
  onEvent((name, data) => {
    if (name === "log") {
      add(data);
      changed();
    }
    if (name === "snapshot" || name === "resumed") {
      // Numbers of another generation mean other rows.
      if (data.generation !== generation) {
        generation = data.generation;
        rows = [];
      }
      fill();
    }
  });
}

const topicOfSource = {
  recovery: "questions",
  orders: "cell",
  jobs: "cell",
  cell: "cell",
  alarms: "alarms",
  commands: "commands",
  devices: "devices",
};
const linkTypes = new Set(["LinkChanged", "SessionDrained", "OutageEnded", "ProcessStarted", "DatabaseTravelled", "StopRequested"]);
const typeTopics = {
  SendCommand: "commands",
  CancelCommand: "commands",
  JudgeCommand: "commands",
  TelemetryReceived: "devices",
  ImportDevices: "configuration",
  ImportPlant: "configuration",
  ResolveManualAction: "questions",
  ConfirmRecovery: "questions",
  AckAlarm: "alarms",
  ShelveAlarm: "alarms",
};

function about(row) {
  const topics = new Set([...topicsOf(row)].map((name) => topicOfSource[name]));
  for (const note of row.notes) if (note.kind === "manual_action") topics.add("questions");
  if (typeTopics[row.type]) topics.add(typeTopics[row.type]);
  if (linkTypes.has(row.type)) topics.add("links");
  return topics;
}

function matches(row) {
  if (topic !== "all" && !about(row).has(topic)) return false;
  return text === "" || JSON.stringify(row).toLowerCase().includes(text.toLowerCase());
}

export function view() {
  const list = (still || rows).filter(matches).slice(0, shownRows);
  const newer = still && rows.length ? rows.filter((row) => !still.length || row.seq > still[0].seq).length : 0;
  return [
    h(
      "div",
      { class: "row find", key: "find" },
      h(
        "div",
        { class: "choices" },
        ["all", ...Object.keys(t.log.topics)].map((name) =>
          h(
            "button",
            {
              type: "button",
              key: name,
              class: "choice",
              "aria-pressed": String(topic === name),
              onclick: () => {
                topic = name;
                changed(true);
              },
            },
            name === "all" ? t.log.all : t.log.topics[name],
          ),
        ),
      ),
      h(
        "div",
        { class: "row grow" },
        h("input", {
          type: "search",
          "aria-label": t.log.find,
          placeholder: t.log.find,
          once: { value: text },
          oninput: (event) => {
            text = event.currentTarget.value;
            changed();
          },
        }),
        h(
          "button",
          {
            type: "button",
            class: "choice",
            "aria-pressed": String(still !== null),
            onclick: () => {
              still = still ? null : rows.slice();
              changed(true);
            },
          },
          still ? t.log.goOn + (newer ? " · " + t.log.held(newer) : "") : t.log.hold,
        ),
      ),
    ),
    list.length
      ? h("table", { class: "rows panel log", key: "rows" }, h("tbody", null, list.map(rowView)))
      : h("p", { class: "note", key: "none" }, t.log.none),
    h("p", { class: "small", key: "count" }, t.log.newest(list.length)),
  ];
}

// short leaves of a UUID what tells it from others; the row's number finds the whole.
function short(text) {
  return text.replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{6}([0-9a-f]{6})/g, "…$1");
}

function rowView(row) {
  return h(
    "tr",
    { key: row.seq, class: "outcome-" + row.outcome },
    h("td", { class: "seq" }, String(row.seq)),
    h("td", { class: "seq" }, wall(row.at)),
    h("td", null, row.type, row.outcome !== "accepted" ? h("b", null, " " + row.outcome) : null),
    h(
      "td",
      null,
      h("span", { title: row.subject || "" }, short(row.subject || "")),
      row.actor ? h("span", { class: "small" }, " " + t.commands.by + " " + row.actor) : null,
    ),
    h(
      "td",
      { class: "wide-only" },
      row.reason || "",
      row.notes
        .slice(0, 6)
        .map((n, i) => h("span", { key: i, class: "note-chip" }, short(n.key) + " " + n.move + (n.to && n.to !== n.from ? " → " + n.to : ""))),
      row.notes.length > 6 ? h("span", { class: "small" }, "+" + (row.notes.length - 6)) : null,
    ),
  );
}
