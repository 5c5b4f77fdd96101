// Draws the line: machines above, the robot and its tools on the rail in the middle, dock, buffer and exit below, and the
// way of the part that the robot carries now. Normal is grey; what is not normal has colour, shape and word.

import { h, shape, sign } from "./dom.js";
import { duration, since, span, stopwatch, wall } from "./clock.js";
import { partId, stepText } from "./parts.js";
import { place, t, word } from "./texts.js";

export function line(known) {
  const { cell } = known;
  // In the order of their numbers on the wire, which is how the plant file lays them out.
  const all = [...cell.equipment].sort((a, b) => (a.config.first || 0) - (b.config.first || 0));
  const machines = all.filter((e) => e.kind === "machine"),
    robots = all.filter((e) => e.kind === "robot");
  const tools = all.filter((e) => e.kind !== "machine" && e.kind !== "robot");
  return h(
    "div",
    { class: "line" },
    h(
      "div",
      { class: "machines" },
      machines.map((e) => machineView(known, e)),
    ),
    h(
      "div",
      { class: "rail" },
      robots.map((e) => robotView(known, e)),
      tools.map((e) => toolView(known, e)),
    ),
    h(
      "div",
      { class: "stores" },
      h(
        "div",
        { class: "store dock" },
        h("h3", null, t.cell.dock, " ", h("span", { class: "label" }, cell.pallets.map((p) => t.cell.pallet(p.id)).join(", ") || t.cell.noPallet)),
        h(
          "div",
          { class: "places", vars: { columns: columns(cell.dock) } },
          cell.dock.map((p) => dockPlace(known, p)),
        ),
      ),
      h(
        "div",
        { class: "store buffer" },
        h("h3", null, t.cell.buffer),
        h(
          "div",
          { class: "places", vars: { columns: columns(cell.buffer) } },
          cell.buffer.map((p) => bufferPlace(known, p)),
        ),
      ),
      exitView(known),
    ),
    h(
      "svg",
      { class: "path", "aria-hidden": "true" },
      h("path", { class: "path-from", d: "" }),
      h("path", { class: "path-to", d: "" }),
      h("path", { class: "path-head", d: "" }),
    ),
  );
}

// columns of a row of places: two rows where they fit.
function columns(places) {
  return Math.min(8, Math.max(1, Math.ceil(places.length / 2)));
}

const statusSigns = { OFFLINE: "off", IDLE: "empty", RUNNING: "busy", DONE: "done", FAULT: "fault" };

// statusView says how an equipment is, and when it is not reached since when and why.
function statusView(known, e) {
  const subject = "equipment:" + e.id;
  const alarm =
    e.status === "OFFLINE" ? known.alarm("equipment_offline", subject) : e.status === "FAULT" ? known.alarm("equipment_fault", subject) : undefined;
  const text =
    e.status !== "OFFLINE" ? word(t.equipmentStatus, e.status) : alarm ? t.cell.offline(span(since(alarm.raisedAt))) : t.cell.offlineUnknown;
  return [
    h(
      "div",
      { class: "states" },
      sign(statusSigns[e.status] || "empty", text, { class: "status", "data-status": e.status }),
      e.holds.map((hold) =>
        h("span", { key: hold.id, class: "badge-hold" }, sign("hold", hold.hold === "recovery" ? t.cell.notCompared : word(t.cell.held, hold.hold))),
      ),
      e.manualActions.length ? h("a", { class: "asked", href: "#questions" }, sign("question", t.orders.stops(e.manualActions.length))) : null,
    ),
    alarm ? h("div", { class: "why-offline", title: alarm.text }, alarm.text) : null,
  ];
}

function frame(e, kind, ...children) {
  const ill = e.status === "OFFLINE" || e.status === "FAULT";
  return h(
    "div",
    {
      key: e.id,
      class: "equipment " + kind + (ill ? " ill ill-" + e.status : ""),
      "data-equipment": e.id,
      "data-status": e.status,
      vars: { slots: Math.max(1, e.slots.length) },
    },
    h("a", { class: "name", href: "#cell/" + encodeURIComponent(e.id) }, e.name || e.id),
    ...children,
  );
}

function machineView(known, e) {
  const start = known.cell.starts.find((task) => task.equipmentId === e.id);
  return frame(
    e,
    "machine",
    statusView(known, e),
    start ? h("div", { class: "small" }, start.state === "UNKNOWN" ? sign("uncertain", t.cell.doubt) : t.cell.starting(start.actionNo)) : null,
    h(
      "div",
      { class: "slots" },
      e.slots.map((s) => slotView(known, e, s)),
    ),
    e.status === "OFFLINE" ? h("div", { class: "last-known" }, t.cell.lastKnown) : null,
  );
}

function slotView(known, e, s) {
  const job = s.currentJobId ? known.jobs.get(s.currentJobId) : undefined;
  const order = job && known.order.get(job.orderId);
  const step = order && order.steps[job.stepIndex];
  const expected = step ? duration(step.expected) : 0,
    elapsed = s.startedAt ? since(s.startedAt) : 0;
  const reached = e.status !== "OFFLINE"; // else nobody knows how far it is, only when it was started
  const started = s.state === "OCCUPIED" && s.startedAt;
  const working = started && e.status === "RUNNING"; // else the record and the machine do not say the same now
  const over = started && ((s.dueAt && since(s.dueAt) > 0) || known.alarm("step_overdue", "job:" + s.currentJobId));
  return h(
    "div",
    {
      key: s.id,
      class: "slot slot-" + s.state + (over ? " slot-over" : "") + moving(known, "ON_EQUIPMENT", s.id),
      "data-place": "ON_EQUIPMENT:" + s.id,
      "data-state": s.state,
    },
    h(
      "div",
      { class: "slot-head" },
      h("span", { class: "number" }, String(s.number)),
      over
        ? sign("alarm", t.cell.over)
        : s.state === "OCCUPIED"
          ? sign(working ? "busy" : "empty", working ? t.cell.working : started ? t.cell.started : t.cell.notStarted)
          : sign(s.state === "DONE" ? "done" : "empty", word(t.cell.slot, s.state)),
    ),
    s.currentJobId ? partId(s.currentJobId) : h("span", { class: "part" }, "–"),
    step
      ? h(
          "div",
          { class: "small" },
          t.cell.step + " " + (job.stepIndex + 1) + "/" + order.steps.length + (step.program ? " · " + t.cell.program + " " + step.program : ""),
        )
      : null,
    working ? h("div", { class: "bar", vars: { done: expected ? Math.min(1, elapsed / expected) : 0 } }) : null,
    !reached && started
      ? h("div", { class: "small time" }, t.cell.startedAt(wall(s.startedAt)))
      : started
        ? h("div", { class: "small time" }, stopwatch(elapsed) + (expected ? " / " + stopwatch(expected) : ""))
        : s.enteredAt && s.state !== "EMPTY"
          ? h("div", { class: "small time" }, stopwatch(since(s.enteredAt)))
          : null,
    job ? partMark(job) : null,
  );
}

function toolView(known, e) {
  const task = known.cell.robotTask;
  const here = task && task.type !== "MOVE" && task.equipmentId === e.id;
  return frame(
    e,
    "tool",
    statusView(known, e),
    h("div", { class: "station", "data-place": "ON_ROBOT:" + e.id }, here && task.jobId ? partId(task.jobId) : h("span", { class: "small" }, "–")),
  );
}

function robotView(known, e) {
  const { robotTask: task, gripper, lastActionNo } = known.cell;
  return frame(
    e,
    "robot",
    h("div", { class: "robot-state" }, statusView(known, e)),
    h(
      "div",
      { class: "gripper" + (gripper ? " full" : ""), "data-place": "ON_ROBOT:1", "data-part": gripper ? gripper.id : "" },
      h("span", { class: "label" }, t.cell.gripper),
      gripper ? partId(gripper.id) : h("span", { class: "part" }, t.cell.empty),
    ),
    h(
      "div",
      {
        class: "move",
        "data-from": task && task.from ? task.from.type + ":" + (task.from.ref || "") : "",
        "data-to": task && task.to ? task.to.type + ":" + (task.to.ref || "") : "",
        "data-action": task ? String(task.actionNo) : "",
      },
      task
        ? [
            h(
              "div",
              null,
              task.state === "UNKNOWN" ? sign("uncertain", t.cell.doubt) : sign("busy", word(t.cell.task, task.type)),
              " ",
              h("b", null, task.jobId || ""),
            ),
            h("div", null, (task.from ? place(task.from) : "") + " → " + (task.to ? place(task.to) : "")),
            h("div", { class: "small" }, t.cell.action(task.actionNo) + " · " + stopwatch(since(task.createdAt))),
          ]
        : [h("div", null, t.cell.idle), h("div", { class: "small" }, lastActionNo ? t.cell.action(lastActionNo) : "")],
    ),
  );
}

// moving marks the place that the robot takes a part from, and the one that it brings it to.
function moving({ cell: { robotTask: task } }, type, ref) {
  const is = (p) => p && p.type === type && p.ref === String(ref);
  return task && is(task.from) ? " from" : task && is(task.to) ? " to" : "";
}

// partMark marks a part that is not as it should be; the others have none.
function partMark(job) {
  const kind = { ERROR: "uncertain", SUSPENDED: job.manualActions.length ? "question" : "hold", WAITING_JUDGEMENT: "question" }[job.shownState];
  return kind ? sign(kind, word(t.cell.mark, kind), { class: "mark", title: word(t.jobState, job.shownState) }) : null;
}

function dockPlace(known, p) {
  const job = p.jobs[0];
  return h(
    "div",
    {
      key: p.number,
      class: "place" + (job ? " here" : "") + moving(known, "ON_DOCK", p.number),
      "data-place": "ON_DOCK:" + p.number,
      "data-part": job ? job.id : "",
    },
    h("span", { class: "number" }, String(p.number)),
    job ? partId(job.id) : null,
    job ? partMark(job) : null,
    p.jobs.length > 1 ? h("b", { class: "doubt" }, t.cell.alsoHere(p.jobs.length - 1)) : null,
  );
}

// bufferPlace shows a part that stands there as full, and a place that is kept for one that is elsewhere as an outline.
function bufferPlace(known, p) {
  const here = p.jobs.find((j) => j.positionType === "ON_BUFFER" && Number(j.positionRefId) === p.number);
  const job = here || p.jobs[0];
  const order = job && known.order.get(job.orderId);
  return h(
    "div",
    {
      key: p.number,
      class: "place" + (here ? " here" : job ? " kept" : "") + moving(known, "ON_BUFFER", p.number),
      "data-place": "ON_BUFFER:" + p.number,
      "data-part": here ? here.id : "",
    },
    h("span", { class: "number" }, String(p.number)),
    job
      ? [
          partId(job.id),
          h(
            "span",
            { class: "small" },
            here ? stepText(order && order.steps, job.stepIndex) : t.cell.kept(place({ type: job.positionType, ref: job.positionRefId })),
          ),
          here ? partMark(job) : null,
        ]
      : h("span", { class: "small" }, t.cell.empty),
    p.jobs.length > 1 ? h("b", { class: "doubt" }, t.cell.alsoHere(p.jobs.length - 1)) : null,
  );
}

// exitView counts the orders that are worked on, the oldest first and large; without one, the last that ended.
function exitView(known) {
  const age = (o) => Date.parse(o.startedAt || o.createdAt);
  const started = known.orders.filter((o) => o.startedAt && !o.endedAt).sort((a, b) => age(a) - age(b));
  const shown = started.length ? started : known.orders.filter((o) => o.endedAt).slice(0, 1);
  const good = (o) => o.completed + " " + t.cell.of + " " + o.planned;
  return h(
    "div",
    { class: "store exit" + moving(known, "OUT", "exit"), "data-place": "OUT:exit" },
    h("h3", null, t.cell.exit, " ", shape("out")),
    shown
      .slice(0, 3)
      .map((o, n) =>
        h(
          "a",
          { key: o.id, class: "counter", href: "#orders/" + encodeURIComponent(o.id) },
          h("b", null, o.id),
          n === 0 ? h("div", { class: "big" }, good(o)) : h("span", null, " " + good(o)),
          h(
            "div",
            { class: "small" },
            n === 0 ? t.cell.completed + " · " : "",
            o.scrapped + " " + t.cell.scrapped,
            o.cancelled ? " · " + o.cancelled + " " + t.cell.cancelled : "",
          ),
        ),
      ),
  );
}

// drawPath draws the way of the robot's move between the rows of the line: from the card that the part comes from to the
// robot, and on to the card that it goes to. The places themselves are marked.
export function drawPath(main) {
  const line = main.querySelector(".line"),
    robot = line && line.querySelector(".robot");
  if (!robot) return;
  const box = line.getBoundingClientRect(),
    r = robot.getBoundingClientRect();
  const move = robot.querySelector(".move");
  const end = (id) => {
    const place = id ? line.querySelector(`[data-place="${CSS.escape(id)}"]`) : null;
    if (!place || robot.contains(place)) return null;
    const p = place.getBoundingClientRect(),
      card = place.closest(".equipment, .store").getBoundingClientRect();
    if (p.top < r.bottom && p.bottom > r.top) {
      // a tool on the rail, beside the robot
      const right = p.left > r.left,
        y = r.top + r.height / 2 - box.top;
      return {
        d: `M${(right ? r.right : r.left) - box.left} ${y}H${(right ? card.left : card.right) - box.left}`,
        head: arrow((right ? card.left : card.right) - box.left, y, right ? -12 : 12, 0),
      };
    }
    const up = p.top < r.top,
      x = p.left + p.width / 2 - box.left,
      y = (up ? card.bottom : card.top) - box.top;
    const rx = Math.min(Math.max(x, r.left - box.left + 20), r.right - box.left - 20),
      ry = (up ? r.top : r.bottom) - box.top;
    return { d: `M${rx} ${ry}C${rx} ${(y + ry) / 2} ${x} ${(y + ry) / 2} ${x} ${y}`, head: arrow(x, y, 0, up ? 12 : -12) };
  };
  const set = (name, d) => {
    const path = line.querySelector("." + name);
    if (path.getAttribute("d") !== d) path.setAttribute("d", d);
  };
  const from = end(move.dataset.from),
    to = end(move.dataset.to);
  set("path-from", from ? from.d : "");
  set("path-to", to ? to.d : "");
  set("path-head", to ? to.head : "");
}

// arrow is the head of an arrow whose point is at x, y and whose back is dx, dy away.
function arrow(x, y, dx, dy) {
  const half = 8,
    across = dx === 0 ? [half, 0] : [0, half];
  return `M${x + dx - across[0]} ${y + dy - across[1]}L${x} ${y}L${x + dx + across[0]} ${y + dy + across[1]}z`;
}
