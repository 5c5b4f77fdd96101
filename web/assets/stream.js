// Owns the event stream and with it the one question that everything else depends on: is this page live?
//
//   connecting  nothing has been heard yet
//   live        an event within the last two and a half seconds; the server beats each second
//   stale       the connection stands, but nothing has come for so long: the service is frozen, or the line is cut
//   lost        the connection is gone; the browser tries again
//
// What the page does about it is for others: they listen with onLink and onEvent.

import { go, heard, stop } from "./clock.js";

const silence = 2500; // without a sign of life for so long nothing here is live: three seconds are the promise, looking and drawing are part of them
const lookEvery = 100;
const reopenAfter = 10000; // a connection that is silent for so long is given up: its line may be cut without a word
const tryAgainAfter = 1000; // after an answer that the browser itself gives up on, such as 503 while the service starts
const restAfter = 60000; // a page that nobody sees gives its connection back: a browser has six for all its pages
const names = ["snapshot", "resumed", "reset", "resync", "log", "values", "links", "heartbeat"];

let source = null;
let state = "connecting";
let lastSign = 0; // by the panel's own monotonic clock: a jump of the wall clock makes nothing live
let lostAt = 0;
let opened = 0;
let again = null;
let resting = null;
const linkListeners = [];
const eventListeners = [];

// link is the state, and how long ago the last sign of life was, in milliseconds.
export function link() {
  return { state, live: state === "live", age: lastSign ? performance.now() - lastSign : performance.now() };
}

export function onLink(listener) {
  linkListeners.push(listener);
}
export function onEvent(listener) {
  eventListeners.push(listener);
}

function become(next) {
  if (next === state) return;
  state = next;
  if (next === "live") go("link");
  else stop("link");
  for (const listener of linkListeners) listener(link());
}

function sign(event) {
  lastSign = performance.now();
  let data;
  try {
    data = JSON.parse(event.data);
  } catch {
    return; // an event that cannot be read says nothing; that it came is a sign of life all the same
  }
  if (event.type === "heartbeat") heard(data.at);
  for (const listener of eventListeners) listener(event.type, data);
  become("live");
}

function open() {
  clearTimeout(again);
  again = null;
  if (source) source.close();
  opened = performance.now();
  source = new EventSource("/api/v1/stream");
  for (const name of names) source.addEventListener(name, sign);
  source.onerror = () => {
    become(lastSign ? "lost" : "connecting");
    if (source.readyState === EventSource.CLOSED && !again) again = setTimeout(open, tryAgainAfter);
  };
}

// look is called several times a second: silence is something that no event tells.
function look() {
  const quiet = performance.now() - lastSign;
  if (state === "live" && quiet >= silence) become("stale");
  if (state === "stale" && !document.hidden && quiet >= reopenAfter && performance.now() - opened >= reopenAfter) open();
}

// seenOrNot follows whether anybody can see the page. One that wakes up with old figures is judged before it is
// drawn.
function seenOrNot() {
  clearTimeout(resting);
  if (document.hidden)
    resting = setTimeout(() => {
      source.close();
      become("lost");
    }, restAfter);
  else if (source.readyState === EventSource.CLOSED) open();
  look();
}

export function start() {
  open();
  setInterval(look, lookEvery);
  document.addEventListener("visibilitychange", seenOrNot);
  window.addEventListener("pageshow", look);
}
