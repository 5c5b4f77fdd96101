// Owns every request but the stream. Reads: one at a time for each resource. Writes: only while the page is live, each
// with a key of its own, and never by themselves a second time.

import { link, onLink } from "./stream.js";

const root = "/api/v1";
const readWithin = 8000;
const writeWithin = 6000; // the server answers within two seconds, or says that it is in progress

let blocked = () => false; // set by health.js: the service itself says that it cannot decide
const writing = new Set();

export function blockWhen(test) {
  blocked = test;
}

// mayWrite tells whether a control may work now. What is outside of the service, as the demo's plant, needs only the line.
export function mayWrite(outside = false) {
  return link().live && (outside || !blocked());
}

// read gets a resource; it throws what a person can be told.
export async function read(path, outside = false) {
  const response = await fetch((outside ? "" : root) + path, { signal: AbortSignal.timeout(readWithin), headers: { Accept: "application/json" } });
  const body = await response.json().catch(() => null);
  if (!response.ok) throw Object.assign(new Error((body && body.detail) || "HTTP " + response.status), { status: response.status, body });
  return body;
}

// What became of a write:
//   accepted     it is stored; what it changes comes by the stream
//   under_way    it is stored, and a device is told
//   in_progress  the server has it and has not decided yet
//   refused      nothing was done; the answer says why
//   not_sent     nothing has left this page
//   unknown      it has left and no answer came: it may be carried out. It is never sent again by the page itself.
export async function send(path, body, { key = crypto.randomUUID(), outside = false } = {}) {
  if (!mayWrite(outside)) return { kind: "not_sent", key };
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), writeWithin);
  writing.add(abort);
  try {
    const response = await fetch((outside ? "" : root) + path, {
      method: "POST",
      signal: abort.signal,
      body: JSON.stringify(body || {}),
      // wait=0: the loop's word is wanted at once, what a device does about it comes by the stream.
      headers: { "Content-Type": "application/json", Accept: "application/json", "Idempotency-Key": key, Prefer: "wait=0" },
    });
    return outcome(response.status, await response.json().catch(() => null), key);
  } catch {
    return { kind: "unknown", key };
  } finally {
    clearTimeout(timer);
    writing.delete(abort);
  }
}

function outcome(status, body, key) {
  const b = body || {};
  if (status === 202) return { kind: b.command ? "under_way" : "in_progress", key, body: b };
  if (status >= 200 && status < 300) return { kind: "accepted", key, body: b };
  const faults = (b.problems || []).map((p) => (p.pointer ? p.pointer + ": " + p.detail : p.detail));
  return {
    kind: "refused",
    key,
    status,
    code: b.code || "http_" + status,
    text: [b.detail, ...faults].filter(Boolean).join(" "),
    current: b.current,
  };
}

// A page that is not live any more waits for no answer: the person is told that it is unknown.
onLink((now) => {
  if (!now.live) for (const abort of writing) abort.abort();
});
