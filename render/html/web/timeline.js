// The timeline: a lane per device, stream and overlap, drawn on a canvas.

import { KIND_HOST, KIND_SPAN, NONE, isOperation, lowerBound, makeLanes, utilisation } from "./rows.js";
import { Surface, printable, shortNames } from "./dom.js";
import { formatCount, formatTime, timeTicks } from "./units.js";
import { KIND_FAILED, boxColors, kindColor } from "./colors.js";
import { Overlays } from "./overlays.js";

const LANE = 18,
  GAP = 1,
  SPACE = 7,
  AXIS = 22,
  LABELS = 132,
  MINIMAP = 46;
const MAX_LANES = 24;

// Boxes narrower than NARROW pixels are drawn without an edge and a text.
const NARROW = 4;

// buildGroups arranges rows into groups of lanes: first spans, then the host's views by device, then the streams of
// each device.
export function buildGroups(view, rows) {
  const spans = [],
    streams = new Map();
  for (let i = 0; i < rows.n; i++) {
    if (rows.kind[i] === KIND_SPAN) {
      spans.push(i);
      continue;
    }
    const host = rows.kind[i] === KIND_HOST,
      key = rows.device[i] + ":" + rows.stream[i] + (host ? "h" : "");
    let s = streams.get(key);
    if (s === undefined) streams.set(key, (s = { host, device: rows.device[i], stream: rows.stream[i], rows: [] }));
    s.rows.push(i);
  }
  const groups = [];
  const add = (label, device, indices) => {
    const { lanes, crowded } = makeLanes(rows, indices, MAX_LANES);
    groups.push({ label, device, lanes, crowded });
  };
  if (spans.length > 0) add("requests and spans", null, spans);
  const order = (x) => (x === NONE ? Infinity : x);
  const sorted = [...streams.values()].sort(
    (a, b) => b.host - a.host || order(a.device) - order(b.device) || order(a.stream) - order(b.stream),
  );
  for (const s of sorted) {
    const named = s.device === NONE ? "no device" : view.devices[s.device].label,
      device = s.host ? "host: " + named : named;
    add(s.stream === NONE ? device : device + ", stream " + s.stream, s.host ? null : s.device, s.rows);
  }
  return groups;
}

// visibleRows calls box for each visible row of a lane between the pixels 0 and width, at most one per pixel: x0 and x1
// are its edges, and run the number of pixels with rows narrower than a pixel.
export function visibleRows(rows, lane, from, to, width, box) {
  const scale = width / (to - from);
  const end = (k) => rows.start[lane[k]] + rows.dur[lane[k]];
  let k = lowerBound(0, lane.length, from, (m) => Math.max(end(m), rows.start[lane[m]] + 1e-9));
  while (k < lane.length) {
    const i = lane[k],
      a = rows.start[i];
    if (a >= to) return;
    const x0 = (a - from) * scale,
      x1 = (a + rows.dur[i] - from) * scale;
    if (x1 - x0 >= 1) {
      box(i, Math.max(x0, -1), Math.min(x1, width + 1));
      k++;
      continue;
    }
    const pixel = Math.floor(x0);
    box(i, pixel, pixel + 1);
    // Skip to the first row that reaches the next pixel.
    const next = from + (pixel + 1) / scale;
    let step = 1,
      low = k + 1;
    while (low + step < lane.length && end(low + step) < next) {
      low += step;
      step *= 2;
    }
    k = lowerBound(low, Math.min(lane.length, low + step + 1), next, end);
  }
}

// Timeline shows the rows of the run and lets its reader zoom, pan and select.
export class Timeline {
  constructor(view, rows, store, canvas, tooltip, details) {
    Object.assign(this, { view, rows, store, canvas, tooltip, details });
    this.arrange();
    this.from = 0;
    this.to = Math.max(1, this.end);
    this.hover = NONE;
    this.pinned = NONE;
    canvas.tabIndex = 0;
    this.surface = new Surface(canvas, (c, w, h) => this.paint(c, w, h));
    this.listen();
  }

  // arrange makes the lanes and the minimap of the rows.
  arrange() {
    this.groups = buildGroups(this.view, this.rows);
    this.end = this.view.span_ns;
    this.minimap = utilisation(this.rows, allOps(this.rows), 0, Math.max(1, this.end), 400);
    this.colorTheme = null;
    this.failed = failedAt(this.rows, Math.max(1, this.end), 2000);
    let y = MINIMAP + AXIS;
    for (const g of this.groups) {
      g.y = y;
      y += g.lanes.length * (LANE + GAP) + SPACE;
    }
    this.content = y;
    const tops = new Float32Array(this.rows.n);
    for (const g of this.groups) g.lanes.forEach((lane, n) => lane.forEach((i) => (tops[i] = g.y + n * (LANE + GAP))));
    this.overlays = new Overlays(this.rows, this.view.links, tops, LANE);
    this.canvas.style.height = Math.max(160, y) + "px";
  }

  // zoomTo shows the time between two points, with a margin.
  zoomTo(from, to, margin = 0) {
    const least = 10,
      width = Math.max(least, (to - from) * (1 + 2 * margin)),
      middle = (from + to) / 2;
    this.move(middle - width / 2, middle + width / 2);
  }

  move(from, to) {
    const width = Math.min(to - from, Math.max(1, this.end));
    if (from < 0) [from, to] = [0, width];
    if (to > this.end) [from, to] = [Math.max(0, this.end - width), Math.max(this.end, 1)];
    this.from = from;
    this.to = Math.max(to, from + 1);
    this.surface.draw();
  }

  zoom(factor, at) {
    const width = Math.max(10, (this.to - this.from) * factor);
    const share = (at - this.from) / (this.to - this.from);
    this.move(at - width * share, at + width * (1 - share));
  }

  get plot() {
    return Math.max(10, this.surface.width - LABELS);
  }

  timeAt(x) {
    return this.from + ((x - LABELS) / this.plot) * (this.to - this.from);
  }

  // rowAt returns the row at a point of the canvas, or NONE.
  rowAt(x, y) {
    if (x < LABELS) return NONE;
    for (const g of this.groups) {
      const lane = Math.floor((y - g.y) / (LANE + GAP));
      if (y < g.y || lane >= g.lanes.length) continue;
      const t = this.timeAt(x),
        rows = this.rows,
        reach = (this.to - this.from) / this.plot;
      const list = g.lanes[lane];
      const k = lowerBound(0, list.length, t - reach, (m) => rows.start[list[m]] + rows.dur[list[m]]);
      return k < list.length && rows.start[list[k]] <= t + reach ? list[k] : NONE;
    }
    return NONE;
  }

  paint(c, width, height) {
    const style = getComputedStyle(this.canvas),
      ground = style.getPropertyValue("--ground").trim() || "#fff";
    const ink = style.getPropertyValue("--ink").trim() || "#000",
      faint = style.getPropertyValue("--line").trim() || "#ccc";
    const muted = style.getPropertyValue("--muted").trim() || "#666",
      accent = style.getPropertyValue("--accent").trim() || "#06c";
    const dark = document.documentElement.dataset.theme === "dark";
    c.fillStyle = ground;
    c.fillRect(0, 0, width, height);
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    this.paintMinimap(c, accent, faint, muted);
    this.paintAxis(c, muted, faint, height);
    const s = this.store.state,
      marked = this.marked,
      selected = s.op;
    const scroll = this.canvas.parentElement;
    const top = scroll.scrollTop - 40,
      bottom = scroll.scrollTop + scroll.clientHeight + 40;
    for (const g of this.groups) {
      if (g.y + g.lanes.length * (LANE + GAP) < top || g.y > bottom) continue;
      c.fillStyle = ink;
      c.fillText(clip(c, g.label, LABELS - 14), 6, g.y + LANE / 2);
      if (g.crowded > 0)
        c.fillText(clip(c, `${formatCount(g.crowded)} overlap`, LABELS - 14), 6, g.y + LANE * (g.lanes.length - 0.5));
      c.save();
      c.beginPath();
      c.rect(LABELS, g.y, this.plot, g.lanes.length * (LANE + GAP));
      c.clip();
      g.lanes.forEach((lane, n) => {
        const y = g.y + n * (LANE + GAP);
        if (y + LANE < top || y > bottom) return;
        this.paintLane(c, lane, y, dark, marked, selected, ink);
      });
      c.restore();
    }
    this.paintOverlays(c, { top, bottom, ground, ink, accent });
    const range = this.range ?? s;
    if (range.from !== null || range.to !== null) {
      const a = this.xOf(range.from ?? 0),
        b = this.xOf(range.to ?? this.end);
      c.fillStyle = dark ? "rgba(255,255,255,0.08)" : "rgba(0,0,0,0.08)";
      c.fillRect(LABELS, MINIMAP, Math.max(0, Math.min(a, width) - LABELS), height);
      c.fillRect(Math.max(b, LABELS), MINIMAP, Math.max(0, width - b), height);
      c.fillStyle = accent;
      if (a >= LABELS) c.fillRect(a, MINIMAP, 1, height);
      if (b <= width && b >= LABELS) c.fillRect(b, MINIMAP, 1, height);
    }
  }

  // paintOverlays draws collectives, the critical path of the selected request or of the pinned row's request, and the
  // flows of hovered and pinned rows.
  paintOverlays(c, { top, bottom, ground, ink, accent }) {
    const xOf = (t) => this.xOf(t),
      perPixel = (this.to - this.from) / this.plot;
    c.save();
    c.beginPath();
    c.rect(LABELS, MINIMAP + AXIS, this.plot, this.content);
    c.clip();
    this.overlays.paintCollectives(c, { from: this.from, to: this.to, xOf, perPixel, top, bottom, ink });
    const request = this.store.state.request ?? (this.pinned === NONE ? null : this.rows.request[this.pinned]);
    const segments = this.view.requests[request]?.segments;
    if (segments) this.overlays.paintPath(c, segments, { from: this.from, to: this.to, xOf, ground, ink });
    for (const row of new Set([this.pinned, this.hover]))
      if (row !== NONE) this.overlays.paintFlows(c, row, { xOf, accent });
    c.restore();
  }

  xOf(t) {
    return LABELS + ((t - this.from) / (this.to - this.from)) * this.plot;
  }

  // paintLane draws a lane. Narrow boxes become pixels of an image one pixel high, stretched afterwards: they are too
  // many to be drawn one by one.
  paintLane(c, lane, y, dark, marked, selected, ink) {
    const rows = this.rows,
      names = this.view.names;
    const strip = this.strip(Math.ceil(this.plot)),
      pixels = strip.pixels.fill(0);
    const wide = [];
    let narrow = false;
    visibleRows(rows, lane, this.from, this.to, this.plot, (i, x0, x1) => {
      if (x1 - x0 >= NARROW) {
        wide.push(i, x0, x1);
        return;
      }
      const dim = this.isDim(i, marked, selected);
      const { pixel } = this.colorsOf(i, dark);
      pixels.fill(
        dim ? ((pixel & 0xffffff) | 0x38000000) >>> 0 : pixel,
        Math.max(0, Math.floor(x0)),
        Math.max(Math.floor(x0) + 1, Math.round(x1)),
      );
      narrow = true;
    });
    if (narrow) {
      strip.context.putImageData(strip.image, 0, 0);
      c.imageSmoothingEnabled = false;
      c.drawImage(strip.canvas, 0, 0, strip.canvas.width, 1, LABELS, y, strip.canvas.width, LANE);
    }
    for (let k = 0; k < wide.length; k += 3) {
      const i = wide[k],
        x0 = wide[k + 1],
        x1 = wide[k + 2];
      const colors = this.colorsOf(i, dark);
      const dim = this.isDim(i, marked, selected);
      c.globalAlpha = dim ? 0.22 : 1;
      c.fillStyle = colors.fill;
      const w = x1 - x0 - 0.5;
      c.fillRect(LABELS + x0, y, w, LANE);
      if (w > 34) {
        c.fillStyle = colors.text;
        c.fillText(clip(c, names[rows.name[i]], w - 6), LABELS + Math.max(x0, 0) + 3, y + LANE / 2 + 0.5);
      }
      c.globalAlpha = 1;
      if (i === this.hover || i === this.pinned) {
        c.strokeStyle = ink;
        c.lineWidth = i === this.pinned ? 2 : 1;
        c.strokeRect(LABELS + x0 + 0.5, y + 0.5, Math.max(1, w - 1), LANE - 1);
      }
    }
  }

  // isDim reports whether a row does not match the kind, the names or the operation searched for.
  isDim(i, marked, selected) {
    const { kind } = this.store.state,
      name = this.rows.name[i];
    return (marked && !marked[name]) || (selected ?? name) !== name || (kind ?? this.rows.kind[i]) !== this.rows.kind[i];
  }

  // strip returns an image of the width and one pixel of height.
  strip(width) {
    if (this.image?.width !== width) {
      const canvas = new OffscreenCanvas(width, 1),
        context = canvas.getContext("2d", { willReadFrequently: true });
      const image = context.createImageData(width, 1);
      this.image = { width, canvas, context, image, pixels: new Uint32Array(image.data.buffer) };
    }
    return this.image;
  }

  colorsOf(i, dark) {
    if (this.colorTheme !== dark) {
      this.colorTheme = dark;
      this.colors = [];
    }
    const kind = this.rows.error[i] === NONE ? this.rows.kind[i] : KIND_FAILED,
      key = this.rows.name[i] * 16 + kind;
    return (this.colors[key] ??= boxColors(kind, this.view.names[this.rows.name[i]], dark));
  }

  paintMinimap(c, accent, faint, muted) {
    const h = MINIMAP - 14,
      w = this.plot;
    c.fillStyle = muted;
    c.fillText("all, busy", 6, h / 2 + 4);
    c.fillStyle = faint;
    c.fillRect(LABELS, h + 3, w, 1);
    c.fillStyle = kindColor(1, document.documentElement.dataset.theme === "dark");
    const n = this.minimap.length;
    for (let k = 0; k < n; k++)
      c.fillRect(LABELS + (k * w) / n, 3 + h * (1 - this.minimap[k]), w / n + 0.5, h * this.minimap[k]);
    c.fillStyle = kindColor(KIND_FAILED, document.documentElement.dataset.theme === "dark");
    for (const x of this.failed) c.fillRect(LABELS + x * (w - 3), h + 4, 3, 7);
    const a = LABELS + (this.from / this.end) * w,
      b = LABELS + (this.to / this.end) * w;
    c.strokeStyle = accent;
    c.lineWidth = 1.5;
    c.strokeRect(a, 2, Math.max(2, b - a), h + 2);
  }

  paintAxis(c, muted, faint, height) {
    const y = MINIMAP + AXIS / 2;
    c.textAlign = "center";
    for (const t of timeTicks(this.from, this.to, Math.max(2, this.plot / 110))) {
      const x = this.xOf(t);
      c.fillStyle = faint;
      c.fillRect(x, MINIMAP + AXIS - 4, 1, height);
      c.fillStyle = muted;
      c.fillText(formatTime(t), Math.min(x, LABELS + this.plot - 24), y - 2);
    }
    c.textAlign = "left";
  }

  listen() {
    const at = (e) => {
      const box = this.canvas.getBoundingClientRect();
      return [e.clientX - box.left, e.clientY - box.top];
    };
    const canvas = this.canvas;
    let drag = null;
    this.busy = () => drag !== null;
    const touches = new Map();
    canvas.parentElement.addEventListener("scroll", () => this.surface.draw(), { passive: true });
    canvas.addEventListener(
      "wheel",
      (e) => {
        const [x] = at(e);
        if (e.altKey) return; // scrolls the lanes
        e.preventDefault();
        if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
          const by = ((e.deltaX || e.deltaY) / this.plot) * (this.to - this.from);
          this.move(this.from + by, this.to + by);
        } else {
          this.zoom(Math.exp(e.deltaY * (e.deltaMode === 1 ? 0.05 : 0.0015)), this.timeAt(Math.max(LABELS, x)));
        }
      },
      { passive: false },
    );
    canvas.addEventListener("pointerdown", (e) => {
      canvas.focus({ preventScroll: true });
      canvas.setPointerCapture(e.pointerId);
      const [x, y] = at(e);
      touches.set(e.pointerId, x);
      if (touches.size === 2) {
        const [a, b] = [...touches.values()];
        drag = {
          kind: "pinch",
          distance: Math.max(20, Math.abs(a - b)),
          width: this.to - this.from,
          middle: this.timeAt((a + b) / 2),
        };
        return;
      }
      const kind = y < MINIMAP ? "brush" : e.shiftKey ? "select" : "pan";
      drag = {
        kind,
        x,
        y,
        from: this.from,
        to: this.to,
        at: this.timeAt(x),
        moved: false,
        scroll: canvas.parentElement.scrollTop,
        clientY: e.clientY,
      };
      if (kind === "brush") this.brush(x);
    });
    canvas.addEventListener("pointermove", (e) => {
      const [x, y] = at(e);
      if (drag === null) {
        this.setHover(this.rowAt(x, y), e);
        return;
      }
      if (touches.has(e.pointerId)) touches.set(e.pointerId, x);
      if (drag.kind === "pinch") {
        const [a, b] = [...touches.values()];
        const width = (drag.width * drag.distance) / Math.max(20, Math.abs(a - b));
        this.move(drag.middle - width / 2, drag.middle + width / 2);
        return;
      }
      drag.moved ||= Math.abs(x - drag.x) + Math.abs(y - drag.y) > 3;
      if (!drag.moved) return;
      if (drag.kind === "pan") {
        const by = ((drag.x - x) / this.plot) * (drag.to - drag.from);
        this.move(drag.from + by, drag.to + by);
        canvas.parentElement.scrollTop = drag.scroll - (e.clientY - drag.clientY);
      } else if (drag.kind === "brush") {
        this.brush(x);
      } else {
        const t = this.timeAt(x);
        this.range = { from: Math.max(0, Math.min(t, drag.at)), to: Math.max(t, drag.at) };
        this.surface.draw();
      }
    });
    const release = (e) => {
      touches.delete(e.pointerId);
      if (this.range) {
        this.store.set(this.range);
        this.range = null;
      }
      if (drag !== null && !drag.moved && drag.kind === "pan") {
        const [x, y] = at(e);
        this.pin(this.rowAt(x, y));
      }
      drag = null;
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", (e) => {
      touches.delete(e.pointerId);
      drag = null;
    });
    canvas.addEventListener("pointerleave", () => this.setHover(NONE));
    canvas.addEventListener("dblclick", (e) => {
      const row = this.rowAt(...at(e));
      if (row !== NONE) this.zoomTo(this.rows.start[row], this.rows.start[row] + this.rows.dur[row], 0.25);
      else this.zoomTo(0, this.end);
    });
    canvas.addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const step = (this.to - this.from) / 5,
        middle = (this.from + this.to) / 2;
      const actions = {
        w: () => this.zoom(0.7, middle),
        s: () => this.zoom(1 / 0.7, middle),
        a: () => this.move(this.from - step, this.to - step),
        d: () => this.move(this.from + step, this.to + step),
        0: () => this.zoomTo(0, this.end),
      };
      actions.ArrowLeft = actions.a;
      actions.ArrowRight = actions.d;
      if (!actions[e.key]) return;
      actions[e.key]();
      e.preventDefault();
    });
  }

  // brush moves the window to a point of the minimap.
  brush(x) {
    const at = ((x - LABELS) / this.plot) * this.end,
      width = this.to - this.from;
    this.move(at - width / 2, at + width / 2);
  }

  setHover(row, e) {
    if (row !== this.hover) {
      this.hover = row;
      this.surface.draw();
    }
    this.tooltip(row, e);
  }

  pin(row) {
    this.pinned = row;
    this.details(row);
    this.surface.draw();
  }
}

// failedAt returns when rows ended with an error, as parts of the whole time, at most one of each of so many parts.
export function failedAt(rows, end, parts) {
  const at = new Set();
  for (let i = 0; i < rows.n; i++)
    if (rows.error[i] !== NONE) at.add(Math.floor((Math.min(rows.start[i] + rows.dur[i], end) / end) * parts) / parts);
  return at;
}

// allOps returns the indices of the operations.
export function allOps(rows) {
  const picked = new Uint32Array(rows.n);
  let n = 0;
  for (let i = 0; i < rows.n; i++) if (isOperation(rows, i)) picked[n++] = i;
  return picked.subarray(0, n);
}

// clip shortens a text to a width in pixels.
export function clip(c, text, width) {
  const per = 6.2;
  if (text.length * per > width) text = shortNames.get(text) ?? text;
  text = printable(text.length > 300 ? text.slice(0, 300) : text);
  if (text.length * per <= width || c.measureText(text).width <= width) return text;
  const n = Math.max(0, Math.floor(width / per) - 1);
  return n === 0 ? "" : text.slice(0, n) + "…";
}
