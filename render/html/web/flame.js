// The flame graph: time by stack, the outermost frame on top.

import { buildStacks } from "./rows.js";
import { Surface } from "./dom.js";
import { boxColors } from "./colors.js";
import { clip } from "./timeline.js";

const FRAME = 19,
  DEEPEST = 200;

// layout returns the frames below focus with a width of at least least, as boxes of the unit width: heavier ones first,
// each row of boxes below its parents.
export function layout(focus, least) {
  const boxes = [];
  const pending = [{ node: focus, x: 0, depth: 0 }];
  const total = focus.total;
  while (pending.length > 0) {
    const { node, x, depth } = pending.pop();
    const width = total > 0 ? node.total / total : 0;
    if ((width < least && depth > 0) || depth > DEEPEST) continue;
    boxes.push({ node, x, width, depth });
    let at = x;
    for (const child of sortedChildren(node)) {
      pending.push({ node: child, x: at, depth: depth + 1 });
      at += total > 0 ? child.total / total : 0;
    }
  }
  return boxes;
}

function sortedChildren(node) {
  return (node.sorted ??= [...node.children.values()].sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1)));
}

// FlameGraph draws stacks and lets its reader zoom into them.
export class FlameGraph {
  constructor(rows, store, canvas, names, tooltip, trail) {
    Object.assign(this, { rows, store, canvas, names, tooltip, trail });
    this.root = this.focus = null;
    this.hover = null;
    this.surface = new Surface(canvas, (c, w, h) => this.paint(c, w, h));
    canvas.tabIndex = 0;
    const at = (e) => {
      const box = canvas.getBoundingClientRect();
      return this.boxAt(e.clientX - box.left, e.clientY - box.top);
    };
    canvas.addEventListener("pointermove", (e) => {
      const box = at(e),
        node = box ? box.node : null;
      if (node !== this.hover) {
        this.hover = node;
        this.surface.draw();
      }
      this.tooltip(node, e);
    });
    canvas.addEventListener("pointerleave", () => {
      this.hover = null;
      this.tooltip(null);
      this.surface.draw();
    });
    canvas.addEventListener("click", (e) => {
      const box = at(e);
      if (box) this.zoomTo(box.node);
    });
    canvas.addEventListener("keydown", (e) => {
      const { focus } = this,
        beside = focus.parent ? sortedChildren(focus.parent) : [focus],
        at = (by) => beside[Math.max(0, Math.min(beside.length - 1, beside.indexOf(focus) + by))];
      const next = {
        Escape: this.root,
        Backspace: this.root,
        ArrowUp: focus.parent,
        ArrowDown: sortedChildren(focus)[0],
        ArrowLeft: at(-1),
        ArrowRight: at(1),
      }[e.key];
      if (!next) return;
      this.zoomTo(next);
      e.preventDefault();
    });
  }

  // update adds the picked rows up again.
  update(picked, value, grouping) {
    const path = this.path();
    this.value = value;
    this.root = buildStacks(this.rows, picked, value.of, grouping, this.names);
    this.focus = this.root;
    for (const name of path) {
      const next = [...this.focus.children.values()].find((c) => c.name === name);
      if (!next) break;
      this.focus = next;
    }
    this.link();
    this.zoomTo(this.focus);
  }

  // link sets the parent of each node.
  link() {
    const pending = [this.root];
    while (pending.length > 0) {
      const n = pending.pop();
      for (const c of n.children.values()) {
        c.parent = n;
        pending.push(c);
      }
    }
  }

  // path returns the names of the frames down to the one in focus.
  path() {
    const names = [];
    for (let n = this.focus; n && n.parent; n = n.parent) names.push(n.name);
    return names.reverse();
  }

  zoomTo(node) {
    this.focus = node;
    this.boxes = layout(node, 0.5 / Math.max(300, this.surface.width));
    const depth = this.boxes.reduce((d, b) => Math.max(d, b.depth), 0);
    this.canvas.style.height = (depth + 1) * FRAME + 4 + "px";
    this.trail(node);
    this.surface.fit();
  }

  boxAt(x, y) {
    const depth = Math.floor(y / FRAME),
      at = x / this.surface.width;
    return (this.boxes ?? []).find((b) => b.depth === depth && b.x <= at && at < b.x + b.width);
  }

  paint(c, width, height) {
    const style = getComputedStyle(this.canvas),
      dark = document.documentElement.dataset.theme === "dark";
    c.fillStyle = style.getPropertyValue("--ground").trim() || "#fff";
    c.fillRect(0, 0, width, height);
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    const ink = style.getPropertyValue("--ink").trim() || "#000";
    const { op } = this.store.state;
    for (const b of this.boxes ?? []) {
      const x = b.x * width,
        w = b.width * width,
        y = b.depth * FRAME;
      const colors = ((b.node.colors ??= {})[dark] ??= boxColors(b.node.kind, b.node.name, dark));
      const other = op !== null && op !== undefined && b.node.key !== op;
      const dim = (this.marked && b.node.key >= 0 && !this.marked[b.node.key]) || (other && b.node.key >= 0);
      c.globalAlpha = dim ? 0.3 : 1;
      c.fillStyle = colors.fill;
      c.fillRect(x, y, Math.max(0.5, w - (w > 2 ? 0.6 : 0)), FRAME - 1);
      if (w > 24) {
        c.fillStyle = colors.text;
        c.fillText(clip(c, b.node.name, w - 6), x + 3, y + FRAME / 2);
      }
      c.globalAlpha = 1;
      if (b.node === this.hover) {
        c.strokeStyle = ink;
        c.strokeRect(x + 0.5, y + 0.5, Math.max(1, w - 1), FRAME - 2);
      }
    }
  }

  // matching returns the share of time in frames with matching names, each stack counted once.
  matching(marked) {
    let sum = 0;
    const pending = [this.root];
    while (pending.length > 0) {
      const n = pending.pop();
      if (n.key >= 0 && marked[n.key]) sum += n.total;
      else pending.push(...n.children.values());
    }
    return this.root.total > 0 ? sum / this.root.total : 0;
  }
}
