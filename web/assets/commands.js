// The commands to devices: applied only with proof, uncertain marked, each with its whole story.

import { h, sign } from "./dom.js";
import { use } from "./resources.js";
import { wall } from "./clock.js";
import { ask, control } from "./act.js";
import { resource } from "./parts.js";
import { timeline } from "./timeline.js";
import { changed } from "./paint.js";
import { t, word } from "./texts.js";

const filters = {
  all: "",
  open: "&state=pending_dispatch,dispatched,acknowledged,retrying",
  uncertain: "&state=uncertain",
  failed: "&state=failed,expired",
  applied: "&state=applied",
};
let filter = "all";

const stateSigns = {
  pending_dispatch: "busy",
  dispatched: "busy",
  acknowledged: "busy",
  retrying: "busy",
  applied: "done",
  failed: "out",
  expired: "out",
  uncertain: "uncertain",
};

const show = (v) => (v === true ? t.devices.on : v === false ? t.devices.off : String(v));

export function view([id]) {
  return h(
    "div",
    { class: "two" },
    h(
      "div",
      { class: "list" },
      h(
        "div",
        { class: "choices" },
        Object.keys(filters).map((name) =>
          h(
            "button",
            {
              type: "button",
              key: name,
              class: "choice",
              "aria-pressed": String(filter === name),
              onclick: () => {
                filter = name;
                changed(true);
              },
            },
            t.commands[name],
          ),
        ),
      ),
      resource(use("/commands?limit=100" + filters[filter], ["commands"]), (list) =>
        list.items.length ? list.items.map((c) => commandRow(c, c.id === id)) : h("p", { class: "note" }, t.commands.none),
      ),
    ),
    h("div", { class: "detail" }, id ? detailView(id) : h("p", { class: "note" }, t.commands.choose)),
  );
}

export function commandRow(c, chosen) {
  return h(
    "a",
    {
      key: c.id,
      class: "panel item" + (chosen ? " chosen" : ""),
      href: "#commands/" + encodeURIComponent(c.id),
      "data-command": c.id,
      "data-state": c.state,
    },
    h(
      "div",
      { class: "row" },
      h("b", { class: "grow" }, c.endpointId + " = " + show(c.targetValue)),
      h("time", { class: "small" }, wall(c.createdAt)),
    ),
    h(
      "div",
      null,
      sign(stateSigns[c.state] || "empty", word(t.commands.states, c.state)),
      h(
        "span",
        { class: "small" },
        " · " +
          (c.ruleId ? t.commands.rule(c.ruleId) : c.actor || t.commands.hand) +
          (c.waitingFor ? " · " + t.commands.waits(word(t.commands.gates, c.waitingFor)) : ""),
      ),
    ),
  );
}

function detailView(id) {
  const path = "/commands/" + encodeURIComponent(id);
  return resource(use(path, ["commands"]), (c) => [
    h(
      "div",
      { class: "panel", key: "command:" + id },
      h("h2", null, c.endpointId + " = " + show(c.targetValue)),
      h("p", null, sign(stateSigns[c.state] || "empty", word(t.commands.states, c.state), { class: "strong" })),
      h(
        "p",
        { class: "small" },
        (c.ruleId ? t.commands.rule(c.ruleId) : t.commands.by + " " + (c.actor || "?")) +
          " · " +
          t.commands.attempts(c.attemptCount, c.maxAttempts) +
          " · " +
          wall(c.createdAt) +
          (c.holdsEndpoint ? " · " + t.commands.holds : ""),
      ),
      c.lastError ? h("p", { class: "small" }, c.lastError) : null,
      c.possiblyExecuted ? h("p", null, sign("uncertain", t.commands.possibly)) : null,
      verdict(c, path),
      pending(c, path),
    ),
    story(c, path),
  ]);
}

function verdict(c, path) {
  if (c.state !== "uncertain") return null;
  const judge = (value, title, effect) => () =>
    ask({
      title: title + ": " + c.endpointId,
      effect,
      confirm: title,
      path: path + "/verdict",
      reasonKind: "needed",
      choices: t.reasons.verdict,
      body: () => ({ verdict: value }),
    });
  return h(
    "div",
    { class: "buttons" },
    control(t.commands.sayApplied, judge("applied", t.commands.sayApplied, t.commands.appliedEffect), { key: "applied" }),
    control(t.commands.sayFailed, judge("failed", t.commands.sayFailed, t.commands.failedEffect), { key: "failed" }),
  );
}

function pending(c, path) {
  if (c.state !== "pending_dispatch" && c.state !== "retrying") return null;
  return h(
    "div",
    { class: "buttons" },
    control(
      t.commands.cancel,
      () =>
        ask({
          title: t.commands.cancel + ": " + c.endpointId,
          effect: t.commands.cancelEffect,
          confirm: t.commands.cancel,
          path: path + "/cancel",
          reasonKind: "free",
        }),
      { key: "cancel", kind: "quiet" },
    ),
  );
}

// story is the proof in words, then everything that happened.
function story(c, path) {
  return h(
    "div",
    { class: "panel", key: "story:" + c.id },
    h("h2", null, t.commands.story),
    resource(use(path + "/timeline", ["commands"]), (list) => {
      const proof = c.evidenceId ? list.items.find((item) => item.detail && item.detail.id === c.evidenceId) : undefined;
      return [
        c.state === "applied"
          ? h(
              "p",
              { key: "proof", class: "proof-words" },
              sign("done", t.commands.proof + ":"),
              " ",
              proof ? word(t.commands.evidence, proof.text) : word(t.commands.evidence, "operator_verdict"),
            )
          : h("p", { key: "proof", class: "small" }, t.commands.noProof),
        timeline(list.items, c.evidenceId),
      ];
    }),
  );
}
