// The server's time as well as it is known here, and how people say times and spans. Ages are counted against the
// server's clock: a panel whose own clock is wrong must not make an old value young.

let offset = 0; // milliseconds that the server is ahead of this machine
let stopped = 0; // when the page ceased to be live; 0: it is live
const reasons = new Set(); // why it is not

// heard takes the server's time from a message that has just come.
export function heard(serverTime) {
  const at = Date.parse(serverTime);
  if (!Number.isNaN(at)) offset = at - Date.now();
}

// time is the server's time in milliseconds since 1970.
export function time() {
  return Date.now() + offset;
}

// stop and go: while there is a reason why the page is not live every age in it stands still. One that counts on would
// look alive.
export function stop(reason) {
  reasons.add(reason);
  stopped = stopped || time();
}
export function go(reason) {
  reasons.delete(reason);
  if (reasons.size === 0) stopped = 0;
}

// now is the time that the page shows.
export function now() {
  return stopped || time();
}

// since is how long ago a time of the server was, never negative.
export function since(time) {
  return Math.max(0, now() - Date.parse(time));
}

const two = (n) => String(n).padStart(2, "0");

// span says a number of milliseconds as people do.
export function span(ms) {
  const s = Math.floor(Math.max(0, ms) / 1000);
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + two(s % 60) + " s";
  if (s < 86400) return Math.floor(s / 3600) + " h " + two(Math.floor(s / 60) % 60) + " min";
  return Math.floor(s / 86400) + " d " + (Math.floor(s / 3600) % 24) + " h";
}

// stopwatch is a span as m:ss, for bars and slots.
export function stopwatch(ms) {
  const s = Math.floor(Math.max(0, ms) / 1000);
  return s < 3600 ? Math.floor(s / 60) + ":" + two(s % 60) : Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
}

// duration reads the server's durations, such as "1h2m3.5s" or "500ms", into milliseconds.
export function duration(text) {
  const units = { h: 3600000, m: 60000, s: 1000, ms: 1, us: 0.001, µs: 0.001, ns: 0.000001 };
  let ms = 0;
  for (const [, n, unit] of String(text || "").matchAll(/([\d.]+)(ms|us|µs|ns|h|m|s)/g)) ms += Number(n) * units[unit];
  return ms;
}

// wall is a time of day of the server's time, in this panel's time zone; with the day when it is another one.
export function wall(time, seconds = true) {
  const at = new Date(typeof time === "number" ? time : Date.parse(time));
  if (Number.isNaN(at.getTime())) return "";
  const text = two(at.getHours()) + ":" + two(at.getMinutes()) + (seconds ? ":" + two(at.getSeconds()) : "");
  return at.toDateString() === new Date(now()).toDateString()
    ? text
    : at.getFullYear() + "-" + two(at.getMonth() + 1) + "-" + two(at.getDate()) + " " + text;
}
