// The orders with their progress and holds, the parts of one, and what happened to it or to a part.

import { h, sign } from "./dom.js";
import { read } from "./requests.js";
import { use } from "./resources.js";
import { ask, control } from "./act.js";
import { holdView, jobSign, resource, stepText } from "./parts.js";
import { timeline } from "./timeline.js";
import { place, t, word } from "./texts.js";

const orderSigns = { draft: "empty", ready: "empty", running: "busy", stopping: "hold", completed: "done", cancelled: "out" };

export function view([id, job]) {
  return resource(use("/orders?limit=100", ["orders"]), (list) => {
    const chosen = list.items.find((o) => o.id === id) || (id === undefined ? list.items.findLast((o) => o.startedAt && !o.endedAt) : undefined);
    return h(
      "div",
      { class: "two" },
      h(
        "div",
        { class: "list" },
        h("div", { class: "buttons" }, control(t.orders.create, create, { kind: "quiet" })),
        list.items.length ? list.items.map((o) => orderRow(o, chosen && chosen.id === o.id)) : h("p", { class: "note" }, t.orders.none),
        list.next ? h("p", { class: "small" }, t.orders.more) : null,
      ),
      h("div", { class: "detail" }, chosen ? orderDetail(chosen, job) : h("p", { class: "note" }, t.orders.choose)),
    );
  });
}

function orderRow(o, chosen) {
  const share = (n) => (o.planned ? n / o.planned : 0);
  return h(
    "a",
    { key: o.id, class: "panel item" + (chosen ? " chosen" : ""), href: "#orders/" + encodeURIComponent(o.id), "data-order": o.id },
    h(
      "div",
      { class: "row" },
      h("b", { class: "grow" }, o.id),
      sign(orderSigns[o.state] || "empty", word(t.orderState, o.state), { "data-state": o.state }),
    ),
    h(
      "div",
      { class: "progress", vars: { good: share(o.completed), scrap: share(o.scrapped), cancelled: share(o.cancelled) } },
      h("i", { class: "good" }),
      h("i", { class: "scrap" }),
      h("i", { class: "gone" }),
    ),
    h(
      "div",
      { class: "small" },
      o.completed +
        " " +
        t.cell.completed +
        " " +
        t.cell.of +
        " " +
        o.planned +
        " · " +
        o.scrapped +
        " " +
        t.cell.scrapped +
        " · " +
        o.cancelled +
        " " +
        t.cell.cancelled +
        " · " +
        t.orders.left(o.left),
    ),
    o.holds.map((hold) => holdView(hold)),
    o.manualActions.length ? sign("question", t.orders.stops(o.manualActions.length)) : null,
  );
}

function orderDetail(o, job) {
  const path = "/orders/" + encodeURIComponent(o.id);
  const paused = o.holds.some((hold) => hold.hold === "paused");
  const buttons = [];
  if (o.state === "draft")
    buttons.push(
      control(
        t.orders.start,
        () =>
          ask({
            title: t.orders.start + " " + o.id,
            effect: t.orders.startEffect(o.id),
            confirm: t.orders.start,
            path: path + "/start",
            reasonKind: "none",
          }),
        { key: "start", kind: "main" },
      ),
    );
  if (!o.endedAt && o.state !== "draft" && !paused)
    buttons.push(
      control(
        t.orders.pause,
        () =>
          ask({
            title: t.orders.pause + " " + o.id,
            effect: t.orders.pauseEffect(o.id),
            confirm: t.orders.pause,
            path: path + "/pause",
            reasonKind: "free",
          }),
        { key: "pause" },
      ),
    );
  if (!o.endedAt && paused)
    buttons.push(
      control(
        t.orders.resume,
        () =>
          ask({
            title: t.orders.resume + " " + o.id,
            effect: t.orders.resumeEffect(o.id),
            confirm: t.orders.resume,
            path: path + "/resume",
            reasonKind: "free",
          }),
        { key: "resume" },
      ),
    );
  if (!o.endedAt) buttons.push(control(t.orders.arrived, () => arrived(o), { key: "arrived" }));
  if (!o.endedAt && o.state !== "stopping") buttons.push(control(t.orders.cancel, () => cancel(o), { key: "cancel", kind: "quiet" }));
  return [
    h(
      "div",
      { class: "panel", key: "order:" + o.id },
      h(
        "h2",
        null,
        o.id,
        " ",
        h(
          "span",
          { class: "small" },
          (o.product ? o.product + " · " : "") +
            t.orders.route +
            " " +
            o.routeId +
            " · " +
            t.orders.parts(o.planned) +
            (o.priority ? " · " + t.orders.priority + " " + o.priority : ""),
        ),
      ),
      h("div", { class: "buttons" }, buttons),
    ),
    jobs(o, job),
    story(job ? "/jobs/" + encodeURIComponent(job) + "/timeline" : path + "/timeline", job || o.id),
  ];
}

function jobs(o, chosen) {
  const r = use("/jobs?limit=500&order=" + encodeURIComponent(o.id), ["jobs"]);
  return h(
    "div",
    { class: "panel", key: "jobs:" + o.id },
    h("h2", null, t.orders.jobs),
    resource(r, (list) =>
      h(
        "table",
        { class: "rows" },
        h(
          "tbody",
          null,
          list.items.map((j) =>
            h(
              "tr",
              { key: j.id, class: chosen === j.id ? "chosen" : "", "data-job": j.id },
              h(
                "td",
                null,
                h(
                  "a",
                  {
                    class: "cell-link",
                    href:
                      chosen === j.id
                        ? "#orders/" + encodeURIComponent(o.id)
                        : "#orders/" + encodeURIComponent(o.id) + "/" + encodeURIComponent(j.id),
                  },
                  j.id,
                ),
              ),
              h("td", null, jobSign(j)),
              h("td", null, place({ type: j.positionType, ref: j.positionRefId })),
              h("td", { class: "wide-only" }, stepText(o.steps, j.stepIndex)),
              h(
                "td",
                { class: "wide-only" },
                j.holds.map((hold) => sign("hold", word(t.cell.held, hold.hold) + (hold.why ? ": " + hold.why : ""))),
                j.manualActions.length ? h("a", { href: "#questions" }, sign("question", t.orders.stops(j.manualActions.length))) : null,
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

function story(path, what) {
  return h(
    "div",
    { class: "panel", key: "story:" + what },
    h("h2", null, t.orders.timeline + ": " + what),
    resource(use(path, ["jobs"]), (list) => timeline(list.items)),
  );
}

function cancel(o) {
  ask({
    title: t.orders.cancel + " " + o.id,
    effect: t.orders.cancelEffect(o.id),
    confirm: t.orders.cancel,
    path: "/orders/" + encodeURIComponent(o.id) + "/cancel",
    reasonKind: "free",
    fields: [
      { name: "inside", kind: "choice", label: t.orders.inside, value: "retire", options: { retire: t.orders.retire, finish: t.orders.finish } },
    ],
    body: (v) => ({ inside: v.inside }),
  });
}

function arrived(o) {
  ask({
    title: t.orders.arrived + ": " + o.id,
    effect: t.orders.arrivedEffect(o.id),
    path: "/orders/" + encodeURIComponent(o.id) + "/pallets",
    reasonKind: "none",
    fields: [
      { name: "pallet", kind: "text", label: t.orders.palletId, needed: true },
      { name: "quantity", kind: "number", label: t.orders.quantity, value: String(o.left), min: 1, needed: true },
    ],
    body: (v) => ({ pallet: v.pallet, quantity: Number(v.quantity) }),
  });
}

async function create() {
  let routes;
  try {
    routes = (await read("/routes")).items;
  } catch {
    routes = [];
  }
  const names = Object.fromEntries(routes.map((r) => [r.id, r.name || r.id]));
  ask({
    title: t.orders.create,
    effect: t.orders.createEffect,
    path: "/orders",
    reasonKind: "none",
    fields: [
      { name: "route", kind: "choice", label: t.orders.route, value: routes.length ? routes[0].id : "", options: names, needed: true },
      { name: "quantity", kind: "number", label: t.orders.quantity, value: "1", min: 1, needed: true },
      { name: "id", kind: "text", label: t.orders.orderId, value: "" },
    ],
    body: (v) => ({ route: v.route, quantity: Number(v.quantity), ...(v.id ? { id: v.id } : {}) }),
  });
}
