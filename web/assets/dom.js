// Builds and updates the page from descriptions: h() describes, patch() brings the document there with the fewest
// changes, so that a button under a finger stays the same button while figures around it change. A text is always a
// text node, never markup.

const svgSpace = "http://www.w3.org/2000/svg";

// h describes an element. attributes: "on…" are handlers, "vars" are custom properties of its style, "key" keeps its
// identity among its siblings, "once" is set when it is made and then belongs to the person (the text of an input).
export function h(tag, attributes, ...children) {
  const a = attributes || {};
  return { tag, a, key: a.key, children: flat(children) };
}

function flat(children) {
  const list = [];
  for (const c of children) {
    if (Array.isArray(c)) list.push(...flat(c));
    else if (c !== null && c !== undefined && c !== false && c !== true) list.push(typeof c === "object" ? c : String(c));
  }
  return list;
}

const notAttributes = new Set(["key", "vars", "once"]);

// One listener for each kind of event on an element: it looks up the newest handler, so that patching never has to
// take listeners off.
function react(event) {
  const handler = event.currentTarget.handlers[event.type];
  if (handler) handler(event);
}

function dress(element, before, after) {
  for (const name in before) {
    if (name in after || notAttributes.has(name)) continue;
    if (name.startsWith("on")) delete element.handlers[name.slice(2)];
    else element.removeAttribute(name);
  }
  for (const name in after) {
    const value = after[name];
    if (notAttributes.has(name)) continue;
    if (name.startsWith("on")) {
      const type = name.slice(2);
      element.handlers = element.handlers || {};
      if (!(type in element.handlers)) element.addEventListener(type, react);
      element.handlers[type] = value;
    } else if (value === null || value === undefined || value === false) {
      if (before[name] !== undefined) element.removeAttribute(name);
    } else if (before[name] !== value) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  for (const name in after.vars || {}) {
    const value = String(after.vars[name]);
    if (element.style.getPropertyValue("--" + name) !== value) element.style.setProperty("--" + name, value);
  }
}

function make(node, svg) {
  if (typeof node === "string") return document.createTextNode(node);
  const inside = svg || node.tag === "svg";
  const element = inside ? document.createElementNS(svgSpace, node.tag) : document.createElement(node.tag);
  dress(element, {}, node.a);
  for (const name in node.a.once || {}) element[name] = node.a.once[name];
  element.described = node;
  for (const child of node.children) element.append(make(child, inside));
  return element;
}

function fits(dom, node) {
  if (typeof node === "string") return dom.nodeType === Node.TEXT_NODE;
  return dom.described !== undefined && dom.described.tag === node.tag && dom.described.key === node.key;
}

function update(dom, node, svg) {
  if (typeof node === "string") {
    if (dom.data !== node) dom.data = node;
    return;
  }
  const inside = svg || node.tag === "svg";
  dress(dom, dom.described.a, node.a);
  dom.described = node;
  patchChildren(dom, node.children, inside);
}

function patchChildren(parent, nodes, svg) {
  const keyed = new Map();
  for (const dom of parent.childNodes) {
    const key = dom.described && dom.described.key;
    if (key !== undefined) keyed.set(key, dom);
  }
  let at = parent.firstChild;
  for (const node of nodes) {
    const key = typeof node === "string" ? undefined : node.key;
    let dom = key !== undefined ? keyed.get(key) : at;
    if (dom && fits(dom, node) && (key !== undefined || !(dom.described && dom.described.key !== undefined))) {
      update(dom, node, svg);
      if (dom === at) at = at.nextSibling;
      else parent.insertBefore(dom, at);
    } else {
      parent.insertBefore(make(node, svg), at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

// patch makes the children of an element those that are described.
export function patch(parent, nodes) {
  patchChildren(parent, flat([nodes]), false);
}

// The shapes that say the same as colour and word. Each is drawn in a square of 16 by 16.
const shapes = {
  alarm: "M1 1h14v14h-14z",
  warning: "M8 1 15.5 15h-15z",
  question: "M8 .5a7.5 7.5 0 1 0 .001 0z",
  uncertain: "M4.2 1h7.6l3.7 7-3.7 7h-7.6l-3.7-7z",
  fault: "M5 .8h6l4.2 4.2v6l-4.2 4.2h-6l-4.2-4.2v-6z",
  ok: "M8 1a7 7 0 1 0 .001 0z",
  off: "M8 1a7 7 0 1 0 .001 0zM3 8h10",
  done: "M2 8.5 6.5 13 14 3.5",
  hold: "M3 2h4v12h-4zM9 2h4v12h-4z",
  busy: "M3 1.5 14 8 3 14.5z",
  empty: "M2 2h12v12h-12z",
  arrow: "M1 8h12M8.5 3.5 13 8l-4.5 4.5",
  out: "M1 8h9M6 3.5 10.5 8 6 12.5M14 1v14",
};
const marks = { alarm: "!", warning: "!", question: "?", uncertain: "?", fault: "!" };

// shape draws one of the shapes; the word beside it says the same, so it is hidden from what reads aloud.
export function shape(name) {
  return h(
    "svg",
    { class: "shape shape-" + name, viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" },
    h("path", { d: shapes[name] }),
    marks[name] ? h("text", { x: "8", y: name === "warning" ? "13.5" : "12", "text-anchor": "middle" }, marks[name]) : null,
  );
}

// sign is a shape with its word.
export function sign(kind, word, attributes) {
  return h(
    "span",
    { ...attributes, class: "sign sign-" + kind + (attributes && attributes.class ? " " + attributes.class : "") },
    shape(kind),
    h("span", null, word),
  );
}
