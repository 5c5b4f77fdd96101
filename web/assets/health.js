// Asks the service every second whether it can decide: the stream may live while the database is away or the
// loop stands still. What it says is shown above everything and stops every control.

import { link, onEvent, onLink } from "./stream.js";
import { go, stop } from "./clock.js";
import { blockWhen } from "./requests.js";
import { changed } from "./paint.js";

const every = 1000;
const answerWithin = 900; // shorter than the pace, so that no two questions overlap
const silentAfter = 2; // questions without an answer: the page says so within three seconds

const state = { kind: "unknown", since: 0, epoch: 0, broker: {}, missed: 0 };
let asking = false;

// health is what is known: kind is ok, database, loop, starting, silent or unknown; since is in local milliseconds.
export function health() {
  return state;
}

function become(kind) {
  if (kind === state.kind) return;
  if (kind === "ok") go("health");
  else stop("health"); // what is shown may be old, so its ages stand still
  state.kind = kind;
  state.since = Date.now();
  changed(true);
}

// judge puts one answer of /readyz in one word; the worst first.
function judge(ready) {
  if (!ready.loop) return "starting";
  if (!ready.database || !ready.writing) return "database";
  if (!ready.turning) return "loop";
  return "ok";
}

async function ask() {
  if (asking) return;
  asking = true;
  try {
    const response = await fetch("/readyz", { signal: AbortSignal.timeout(answerWithin), cache: "no-store" });
    const ready = await response.json();
    state.missed = 0;
    if (ready.epoch) state.epoch = ready.epoch;
    become(judge(ready));
  } catch {
    if (link().live && ++state.missed >= silentAfter) become("silent");
  }
  asking = false;
}

export function start() {
  // Until the service has said that it is ready nothing may be tapped: unknown blocks too.
  blockWhen(() => state.kind !== "ok");
  stop("health");
  onEvent((name, data) => {
    if (data.epoch) state.epoch = data.epoch;
    if (data.links) {
      state.broker = data.links;
      changed();
    }
  });
  onLink((now) => {
    if (now.live) {
      state.missed = 0;
      ask();
    } else become("unknown"); // what was so before a silence has to be said again before anything may be tapped
  });
  setInterval(ask, every);
  ask();
}
