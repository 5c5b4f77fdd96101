// Devices as this page knows them: read once each, three at a time, then kept young by the live values of the stream.

import { link, onEvent, onLink } from "./stream.js";
import { read } from "./requests.js";
import { duration, since } from "./clock.js";
import { changed } from "./paint.js";

const atOnce = 3;
const retryAfter = 2000;

const details = new Map(); // by device id
const live = new Map(); // newest value by endpoint id
const wanted = new Set(); // devices to read
let reading = 0;

// detail gives a device with its endpoints, reading it when it is not known yet.
export function detail(id) {
  const d = details.get(id);
  if (!d) want(id);
  return d;
}

function want(id) {
  wanted.add(id);
  pump();
}

function pump() {
  for (const id of wanted) {
    if (reading >= atOnce || !link().live) return;
    wanted.delete(id);
    reading++;
    bring(id);
  }
}

async function bring(id) {
  try {
    details.set(id, await read("/devices/" + encodeURIComponent(id)));
  } catch (fault) {
    if (fault.status !== 404) setTimeout(() => want(id), retryAfter);
    else details.delete(id);
  }
  reading--;
  changed();
  pump();
}

// keep forgets devices that are not listed any more.
export function keep(ids) {
  const listed = new Set(ids);
  for (const id of details.keys()) if (!listed.has(id)) details.delete(id);
}

// value of an endpoint: the newest of what was read and what the stream said.
export function value(endpoint) {
  const v = live.get(endpoint.id);
  return v && (!endpoint.receivedAt || Date.parse(v.receivedAt) >= Date.parse(endpoint.receivedAt)) ? v : endpoint;
}

// freshness of an endpoint in milliseconds: its own, else its profile's.
export function freshness(endpoint, profile) {
  return duration(endpoint.spec && endpoint.spec.freshness) || duration(profile && profile.timing.freshness) || 120000;
}

export function fresh(endpoint, profile) {
  const at = value(endpoint).receivedAt;
  return Boolean(at) && since(at) <= freshness(endpoint, profile);
}

// heard is when a device was last heard, as a time of the server; undefined: never.
export function heard(d) {
  let newest;
  for (const e of d.endpoints) {
    const at = value(e).receivedAt;
    if (at && (!newest || Date.parse(at) > Date.parse(newest))) newest = at;
  }
  return newest;
}

export function start() {
  onEvent((name, data) => {
    if (name === "values") {
      for (const v of data.values) live.set(v.endpointId, v);
    } else if (name === "log") {
      for (const note of data.notes) if (note.kind === "device" && details.has(note.key)) want(note.key);
      const [kind, id] = (data.subject || "").split(":");
      if (kind === "device" && details.has(id) && data.notes.some((note) => note.kind === "hold")) want(id);
      if (data.type === "ImportDevices") for (const id of details.keys()) want(id);
    } else if (name === "snapshot" || name === "reset" || name === "resync" || name === "resumed") {
      for (const id of details.keys()) want(id);
    } else return;
    changed();
  });
  onLink((now) => {
    if (now.live) pump();
  });
}
