// Building blocks of the page. Text from the data is only ever set as text.

// element makes an element with attributes and children; null children are left
// out, strings and numbers become text.
export function element(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (name === "class") e.className = value;
    else e.setAttribute(name, value === true ? "" : value);
  }
  e.append(
    ...children
      .filter((c) => c !== null && c !== undefined)
      .map((c) => (c instanceof Node ? c : document.createTextNode(printable(String(c))))),
  );
  return e;
}

// push makes a button: a click does what act does, and nothing to the row of a table around it.
export function push(text, act, attributes = {}) {
  const onclick = (e) => {
    e.stopPropagation();
    act();
  };
  return element("button", { type: "button", ...attributes, onclick }, text);
}

export const pushLink = (text, act) => push(text, act, { class: "link" });

// printable replaces invisible characters and changes of text direction.
export function printable(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, "\ufffd");
}

// shortNames has the short forms of names of kernels, by name.
export const shortNames = new Map();

// shorten fits a text into a number of characters: kernels get their short names, longer texts lose their middle.
export function shorten(text, limit) {
  let t = printable(text);
  if (t.length > limit) t = printable(shortNames.get(text) ?? text);
  return t.length <= limit ? t : t.slice(0, Math.ceil(limit / 2) - 1) + "…" + t.slice(t.length - Math.floor(limit / 2));
}

// shortenName shortens a name in the first column of a table, more on a narrow page, to leave room for figures.
export function shortenName(text, limit) {
  const width = globalThis.innerWidth ?? Infinity;
  return shorten(text, Math.min(limit, width < 600 ? 22 : width < 1400 ? 46 : limit));
}

// replaceChildren replaces the children of parent.
export function show(parent, ...children) {
  parent.replaceChildren(...children.filter((c) => c !== null && c !== undefined));
}

// A Surface is a canvas as large as its box, drawn at most once per frame.
export class Surface {
  constructor(canvas, draw) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.paint = draw;
    this.width = this.height = 0;
    new ResizeObserver(() => this.fit()).observe(canvas);
  }

  // fit adapts the pixels of the canvas to its box.
  fit() {
    const box = this.canvas.getBoundingClientRect(),
      ratio = window.devicePixelRatio || 1;
    if (box.width === 0) return;
    this.width = box.width;
    this.height = box.height;
    const w = Math.round(box.width * ratio),
      h = Math.round(box.height * ratio);
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
    }
    this.ratio = ratio;
    this.drawNow();
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.drawNow();
    });
  }

  drawNow() {
    if (this.width === 0) return;
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.paint(this.context, this.width, this.height);
  }
}
