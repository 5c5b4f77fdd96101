// The devices with their values and ages, one in detail, and setting an endpoint by hand.

import { h, sign } from "./dom.js";
import { use } from "./resources.js";
import * as values from "./values.js";
import { since, span } from "./clock.js";
import { ask, control } from "./act.js";
import { holdView, resource } from "./parts.js";
import { commandRow } from "./commands.js";
import { changed } from "./paint.js";
import { t, word } from "./texts.js";

const shownDevices = 200; // rows of the table; a search finds the others
let search = "";

export function start() {
  values.start();
}

export function view([id]) {
  return resource(use("/devices?limit=500", ["devices"]), (list) => {
    values.keep(list.items.map((d) => d.id));
    const found = list.items.filter((d) => (d.name + " " + d.id).toLowerCase().includes(search.toLowerCase()));
    const profiles = profilesById(),
      flight = inFlight();
    return h(
      "div",
      { class: "two wide-list" },
      h(
        "div",
        { class: "list" },
        h(
          "div",
          { class: "row find" },
          h("input", {
            type: "search",
            "aria-label": t.devices.find,
            placeholder: t.devices.find + ": " + t.devices.search,
            once: { value: search },
            oninput: (event) => {
              search = event.currentTarget.value;
              changed();
            },
          }),
          h("span", { class: "small" }, t.devices.shown(Math.min(found.length, shownDevices), list.items.length)),
        ),
        list.items.length
          ? h(
              "table",
              { class: "rows panel devices" },
              h(
                "thead",
                null,
                h(
                  "tr",
                  null,
                  h("th", null, t.devices.name),
                  h("th", null, t.devices.heard),
                  h("th", null, t.devices.values),
                  h("th", { class: "wide-only" }, t.devices.command),
                ),
              ),
              h(
                "tbody",
                null,
                found.slice(0, shownDevices).map((d) => row(d, profiles, flight, id === d.id)),
              ),
            )
          : h("p", { class: "note" }, t.devices.none),
        list.next ? h("p", { class: "small" }, t.devices.truncated) : null,
      ),
      id ? h("div", { class: "detail" }, detailView(id, profiles, flight)) : null,
    );
  });
}

function profilesById() {
  const r = use("/profiles", ["devices"]).data;
  return new Map(r ? r.items.map((p) => [p.id, p]) : []);
}

// inFlight are the commands that hold an endpoint or wait, by endpoint.
function inFlight() {
  const r = use("/commands?limit=500&state=pending_dispatch,dispatched,acknowledged,retrying,uncertain", ["commands"]).data;
  return new Map(r ? r.items.map((c) => [c.endpointId, c]).reverse() : []);
}

export function show(value, unit) {
  if (value === null || value === undefined) return t.devices.noValue;
  return (value === true ? t.devices.on : value === false ? t.devices.off : String(value)) + (unit ? " " + unit : "");
}

// heardView says how long ago a device was heard. Silent is longer than the widest freshness of its endpoints.
function heardView(d, profile) {
  const at = d && values.heard(d);
  if (!d) return h("span", { class: "small" }, t.section.loading);
  if (!at) return sign("off", t.devices.never, { "data-presence": "never" });
  const quiet = since(at) > Math.max(...d.endpoints.map((e) => values.freshness(e, profile)));
  return quiet
    ? sign("off", t.devices.silent(span(since(at))), { class: "strong", "data-presence": "silent" })
    : sign("ok", t.devices.ago(span(since(at))), { "data-presence": "heard" });
}

function row(device, profiles, flight, chosen) {
  const d = values.detail(device.id),
    profile = profiles.get(device.profileId);
  const commands = d ? d.endpoints.map((e) => flight.get(e.id)).filter(Boolean) : [];
  return h(
    "tr",
    { key: device.id, class: chosen ? "chosen" : "", "data-device": device.id },
    h(
      "td",
      null,
      h("a", { class: "cell-link", href: chosen ? "#devices" : "#devices/" + encodeURIComponent(device.id) }, device.name || device.id),
      h("div", { class: "small" }, device.id),
      device.status !== "active" ? sign("hold", word(t.devices.status, device.status)) : null,
    ),
    h("td", null, heardView(d, profile)),
    h(
      "td",
      null,
      d
        ? h(
            "div",
            { class: "values" },
            d.endpoints.map((e) => valueView(e, profile)),
          )
        : null,
    ),
    h("td", { class: "wide-only" }, commands.map(commandBrief)),
  );
}

function commandBrief(c) {
  return h(
    "a",
    { key: c.id, href: "#commands/" + encodeURIComponent(c.id) },
    sign(c.state === "uncertain" ? "uncertain" : "busy", word(t.commands.states, c.state)),
  );
}

function valueView(e, profile) {
  const v = values.value(e),
    young = values.fresh(e, profile);
  return h(
    "span",
    { key: e.id, class: "value" + (young ? "" : " aged"), "data-endpoint": e.id },
    h("span", { class: "label" }, e.key),
    h("b", null, show(v.value, e.spec && e.spec.unit)),
    !young && v.receivedAt ? h("span", { class: "small" }, t.devices.old(span(since(v.receivedAt)))) : null,
  );
}

function detailView(id, profiles, flight) {
  const d = values.detail(id);
  if (!d) return h("div", { class: "panel" }, t.section.loading);
  const profile = profiles.get(d.profileId);
  const last = use("/commands?limit=10&device=" + encodeURIComponent(id), ["commands"]);
  return [
    h(
      "div",
      { class: "panel", key: "device:" + id },
      h("div", { class: "row" }, h("h2", { class: "grow" }, d.name || d.id), h("a", { class: "plain", href: "#devices" }, t.act.close)),
      h(
        "p",
        { class: "small" },
        d.serialNumber + " · " + t.devices.profile + " " + d.profileId + " · " + d.class + ": " + word(t.devices.klass, d.class),
      ),
      heardView(d, profile),
      d.holds.map((hold) => holdView(hold)),
      d.endpoints.map((e) => endpointView(e, profile, flight.get(e.id))),
    ),
    h(
      "div",
      { class: "panel", key: "last:" + id },
      h("h2", null, t.devices.last),
      resource(last, (list) => (list.items.length ? list.items.map((c) => commandRow(c)) : h("p", { class: "note" }, t.commands.none))),
    ),
  ];
}

function endpointView(e, profile, command) {
  const writable = e.enabled && e.spec && e.spec.writable;
  return h(
    "div",
    { key: e.id, class: "endpoint" },
    valueView(e, profile),
    command ? commandBrief(command) : null,
    writable ? h("div", { class: "buttons" }, setters(e)) : null,
  );
}

function limits(e) {
  return (e.overrides && e.overrides.constraints) || (e.spec && e.spec.constraints) || {};
}

function setters(e) {
  const c = limits(e);
  const set = (v) => () =>
    ask({
      title: t.devices.write + ": " + e.id + " = " + show(v, e.spec.unit),
      effect: t.devices.sendEffect(e.id, show(v, e.spec.unit)),
      confirm: show(v, e.spec.unit),
      path: "/commands",
      reasonKind: "free",
      body: () => ({ endpoint: e.id, value: v }),
    });
  if (e.spec.type === "bool") return [control(t.devices.on, set(true), { key: "on" }), control(t.devices.off, set(false), { key: "off" })];
  if (c.allowed && c.allowed.length) return c.allowed.map((v) => control(show(v, e.spec.unit), set(v), { key: String(v) }));
  const number = e.spec.type === "int" || e.spec.type === "float";
  return control(
    t.devices.write,
    () =>
      ask({
        title: t.devices.write + ": " + e.id,
        effect: t.devices.sendEffect(e.id, "…"),
        confirm: t.devices.send,
        path: "/commands",
        reasonKind: "free",
        fields: [
          {
            name: "value",
            kind: number ? "number" : "text",
            label: t.devices.value + " " + (number ? t.devices.number(c.min, c.max) : "") + " " + (e.spec.unit || ""),
            min: c.min,
            max: c.max,
            step: "any",
            needed: true,
          },
        ],
        body: (v) => ({ endpoint: e.id, value: number ? Number(v.value) : v.value }),
      }),
    { key: "set" },
  );
}
