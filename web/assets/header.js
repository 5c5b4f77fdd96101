// The header that is always there: is the page live, can the service decide, what waits for a person, and the time.

import { h, patch, shape, sign } from "./dom.js";
import { link } from "./stream.js";
import { health } from "./health.js";
import { now, span, time, wall } from "./clock.js";
import { use } from "./resources.js";
import { t } from "./texts.js";

export function questionsResource() {
  return use("/recovery", ["recovery"]);
}
export function alarmsResource() {
  return use("/alarms?limit=500", ["alarms"]);
}

// unseen are the alarms that nobody has acknowledged, shelved ones left out.
export function unseen(alarms) {
  return (alarms || []).filter((a) => a.state !== "acknowledged" && !shelved(a));
}

export function shelved(a) {
  return Boolean(a.shelvedUntil) && Date.parse(a.shelvedUntil) > now();
}

const linkShapes = { connecting: "busy", live: "ok", stale: "warning", lost: "off" };

function linkView(l) {
  return h(
    "div",
    { class: "pill link link-" + l.state, id: "link", role: "status", "data-state": l.state },
    shape(linkShapes[l.state]),
    h("b", null, t.link[l.state]),
    l.live ? null : h("span", { class: "age" }, span(l.age)),
  );
}

function fact(id, label, kind, text, good) {
  return h(
    "div",
    { class: "fact" + (good ? "" : " bad"), id, "data-state": kind },
    h("span", { class: "label" }, label),
    good ? h("b", null, text) : sign(kind === "unknown" ? "off" : "warning", text),
  );
}

function brokerDown() {
  return Object.entries(health().broker)
    .filter(([, word]) => word !== "up")
    .map(([name]) => name);
}

function facts(l) {
  const s = health();
  const known = l.live && s.kind !== "unknown" && s.kind !== "silent";
  const database = !known ? "unknown" : s.kind === "database" ? "away" : "ok";
  const down = brokerDown();
  const broker = !l.live || Object.keys(s.broker).length === 0 ? "unknown" : down.length ? "down" : "up";
  return [
    fact("database", t.health.database, database, database === "away" ? t.health.away : t.health[database], database === "ok"),
    fact("broker", t.health.broker, broker, t.health[broker], broker === "up"),
    fact("life", t.health.life, "ok", s.epoch ? String(s.epoch) : "–", true),
  ];
}

function count(id, to, kind, n, text) {
  return h("a", { class: "count" + (n ? " on count-" + kind : ""), id, href: "#" + to, "data-count": String(n) }, n ? shape(kind) : null, text);
}

function bannerOf(l, active) {
  const s = health(),
    dead = active === "lab" ? t.lab.stillWorks : t.link.dead;
  if (!l.live) return [l.state, t.link[l.state + "Banner"](span(l.age)), t.link.dead];
  const at = wall(s.since + (time() - Date.now())),
    age = span(Date.now() - s.since);
  switch (s.kind) {
    case "database":
      return ["database", t.health.databaseBanner(at, age), dead];
    case "loop":
      return ["loop", t.health.loopBanner(at, age), dead];
    case "silent":
      return ["silent", t.health.silentBanner(at, age), dead];
    case "starting":
      return ["starting", t.health.startingBanner(age), dead];
  }
  if (s.kind === "ok" && Object.keys(s.broker).length && brokerDown().length) return ["broker", t.health.brokerBanner(brokerDown().join(", ")), ""];
  return null;
}

function tabs(sections, active) {
  return sections.map((s) => {
    const n = s.badge ? s.badge() : 0;
    return h(
      "a",
      { key: s.id, href: "#" + s.id, class: "tab" + (s.id === active ? " active" : ""), "aria-current": s.id === active ? "page" : null },
      s.title,
      n ? h("span", { class: "badge badge-" + s.badgeKind }, String(n)) : null,
    );
  });
}

// view draws header, banner and tabs, and marks the page for what its colours follow.
export function view(sections, active) {
  const l = link(),
    s = health();
  const questions = questionsResource().data,
    alarms = alarmsResource().data;
  const asked = questions ? questions.findings.length : 0,
    fresh = alarms ? unseen(alarms.items).length : 0;
  patch(document.getElementById("header"), [
    linkView(l),
    ...facts(l),
    h("div", { class: "grow" }),
    count("open-questions", "questions", "question", asked, t.counts.questions(asked)),
    count("new-alarms", "alarms", "alarm", fresh, t.counts.alarms(fresh)),
    h("time", { class: "clock" }, wall(time())),
  ]);
  const banner = bannerOf(l, active);
  patch(
    document.getElementById("banner"),
    banner
      ? [
          h(
            "div",
            { class: "banner banner-" + banner[0], role: "alert", "data-banner": banner[0] },
            shape(banner[0] === "lost" ? "off" : "warning"),
            h("div", null, h("b", null, banner[1]), banner[2] ? h("div", null, banner[2]) : null),
          ),
        ]
      : [],
  );
  patch(document.getElementById("tabs"), tabs(sections, active));
  document.body.dataset.link = l.state;
  document.body.dataset.live = String(l.live && s.kind === "ok");
  document.title = (l.live ? "" : t.link[l.state] + " · ") + (asked ? "(" + asked + ") " : "") + t.page;
}
