// What was read from the service, and when it has to be read again. A section says with use() what it shows; what no
// section shows is not read. A row of the event log makes what it is about dirty. There is one request at most under way
// for each resource, four a second at most, and a bound on how many resources are kept.

import { link, onEvent, onLink } from "./stream.js";
import { read } from "./requests.js";
import { changed } from "./paint.js";

const pace = 250;
const retryAfter = 1000;
const kept = 60;

// entry: data as last read, error of the last try, dirtyAt since when the data may be old, againAt when it became so
// once more while it was being read, busy while it is read.
const entries = new Map();
let used = new Set();

const topicsOfKind = {
  cell: ["cell", "recovery"],
  equipment: ["cell", "recovery"],
  equipment_slot: ["cell"],
  pallet: ["cell"],
  task: ["cell", "jobs"],
  work_order: ["cell", "orders", "jobs"],
  job: ["cell", "orders", "jobs"],
  route: ["orders", "routes"],
  hold: ["cell", "orders", "jobs", "recovery", "devices"],
  manual_action: ["cell", "orders", "jobs", "recovery", "alarms"],
  alarm: ["cell", "alarms"],
  automation_command_intent: ["commands"],
  command_attempt: ["commands"],
  device_command_receipt: ["commands"],
  device: ["devices"],
  device_profile: ["devices"],
  device_endpoint: [],
  farm: ["devices"],
};

// use gives a resource and has it read when it was not or may be old. topics are what it depends on.
export function use(path, topics = [], outside = false) {
  let e = entries.get(path);
  if (!e) {
    e = {
      path,
      topics,
      outside,
      data: undefined,
      error: null,
      status: 0,
      dirtyAt: performance.now(),
      againAt: 0,
      busy: false,
      startedAt: 0,
      timer: null,
    };
    entries.set(path, e);
  }
  used.add(path);
  fetchSoon(e);
  return e;
}

// age is for how long what is shown could not be brought up to date, in milliseconds; 0 when it is.
export function overdue(e) {
  return e.dirtyAt === 0 ? 0 : performance.now() - e.dirtyAt;
}

function fetchSoon(e) {
  if (e.dirtyAt === 0 || e.busy || e.timer || !link().live) return;
  const wait = Math.max(0, e.startedAt + (e.error ? retryAfter : pace) - performance.now());
  e.timer = setTimeout(() => {
    e.timer = null;
    bring(e);
  }, wait);
}

async function bring(e) {
  e.busy = true;
  e.againAt = 0;
  e.startedAt = performance.now();
  try {
    e.data = await read(e.path, e.outside);
    e.error = null;
    e.status = 200;
    e.dirtyAt = e.againAt;
  } catch (fault) {
    e.error = fault.message;
    e.status = fault.status || 0;
    if (e.status === 404) {
      e.data = null;
      e.dirtyAt = e.againAt;
    } // that it does not exist is an answer
  }
  e.busy = false;
  changed();
}

function soil(e) {
  if (e.dirtyAt === 0) e.dirtyAt = performance.now();
  if (e.busy && e.againAt === 0) e.againAt = performance.now(); // the answer under way may be from before
}

// invalidate makes everything that depends on one of the topics old; without topics everything.
export function invalidate(topics) {
  for (const e of entries.values()) {
    if (!topics || e.topics.some((topic) => topics.has(topic))) {
      soil(e);
      if (used.has(e.path)) fetchSoon(e);
    }
  }
}

// put takes a newer state that came with another answer.
export function put(path, change) {
  const e = entries.get(path);
  if (e && e.data) e.data = change(e.data);
  changed();
}

// topicsOf is what a row of the log is about.
export function topicsOf(row) {
  const topics = new Set();
  for (const note of row.notes) for (const topic of topicsOfKind[note.kind] || []) topics.add(topic);
  if (row.type === "ImportDevices") topics.add("devices");
  if (row.type === "ImportPlant") for (const topic of ["cell", "orders", "routes", "recovery"]) topics.add(topic);
  return topics;
}

// paintBegins and paintEnds: what was not used in a painting is not on the screen.
export function paintBegins() {
  used = new Set();
}

export function paintEnds() {
  for (const [path, e] of entries) {
    if (entries.size <= kept) break;
    if (!used.has(path) && !e.busy) entries.delete(path);
  }
}

export function start() {
  onEvent((name, data) => {
    if (name === "log") {
      if (data.notesLeftOut) invalidate(null);
      else invalidate(topicsOf(data));
    } else if (name === "snapshot" || name === "resumed" || name === "resync" || name === "reset") {
      invalidate(null);
    } else return;
    changed();
  });
  // What was read before a silence may be old, whatever the stream says first.
  onLink((now) => {
    if (now.live) {
      invalidate(null);
      changed(true);
    }
  });
}
