// Starts the page and joins its parts: which section is shown follows the part of the address after #.

import { patch, h } from "./dom.js";
import * as stream from "./stream.js";
import * as health from "./health.js";
import * as resources from "./resources.js";
import * as act from "./act.js";
import * as header from "./header.js";
import { changed, paintWith } from "./paint.js";
import { t } from "./texts.js";
import * as cell from "./cell.js";
import * as questions from "./questions.js";
import * as orders from "./orders.js";
import * as devices from "./devices.js";
import * as commands from "./commands.js";
import * as alarms from "./alarms.js";
import * as log from "./log.js";
import * as lab from "./lab.js";

const sections = [
  { id: "cell", title: t.tabs.cell, view: cell.view, after: cell.after },
  { id: "questions", title: t.tabs.questions, view: questions.view, badge: questions.badge, badgeKind: "question" },
  { id: "orders", title: t.tabs.orders, view: orders.view },
  { id: "devices", title: t.tabs.devices, view: devices.view },
  { id: "commands", title: t.tabs.commands, view: commands.view },
  { id: "alarms", title: t.tabs.alarms, view: alarms.view, badge: alarms.badge, badgeKind: "alarm" },
  { id: "log", title: t.tabs.log, view: log.view },
  { id: "lab", title: t.tabs.lab, view: lab.view, there: lab.there },
];

// where is the section of the address, and what comes after it: "#orders/WO-1" is orders and [WO-1].
function where() {
  const parts = location.hash
    .slice(1)
    .split("/")
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
  const section = shown().find((s) => s.id === parts[0]) || sections[0];
  return { section, rest: section.id === parts[0] ? parts.slice(1) : [] };
}

function shown() {
  return sections.filter((s) => !s.there || s.there());
}

function draw() {
  resources.paintBegins();
  const { section, rest } = where();
  header.view(shown(), section.id);
  patch(
    document.getElementById("main"),
    h("section", { key: section.id, class: "section section-" + section.id, "aria-label": section.title }, section.view(rest)),
  );
  if (section.after) section.after(document.getElementById("main"));
  act.view();
  resources.paintEnds();
}

window.addEventListener("hashchange", () => changed(true));
window.addEventListener("resize", () => changed());

paintWith(draw);
act.start();
resources.start();
health.start();
devices.start();
log.start();
lab.start();
stream.start();
changed(true);
