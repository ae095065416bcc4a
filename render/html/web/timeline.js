// The timeline: a lane per stream, thread and overlap, drawn on a canvas. Rows narrower than a pixel show as columns with
// the share of the time that they take, and their number.

import { KIND_SPAN, KIND_WAIT, NONE, lowerBound, usage } from "./rows.js";
import { Surface, element, printable, push, shorten, shortNames, show } from "./dom.js";
import { axisLabels, formatCount, formatTime, plural } from "./units.js";
import { KIND_FAILED, boxColors, kindColor, kindPixel } from "./colors.js";
import { Overlays } from "./overlays.js";
import { buildGroups, edgesOf, laneSums, stepMarks, visibleRows } from "./lanes.js";

const LANE = 18,
  GAP = 1,
  SPACE = 7,
  AXIS = 22,
  LABELS = 132,
  MINIMAP = 46;

// Boxes narrower than NARROW pixels have no edge, and no text below NAMED. Columns of several rows have a label from
// LABELLED pixels on, and at least LEAST pixels of height.
const NARROW = 4,
  NAMED = 34,
  LABELLED = 96,
  LEAST = 3;

// DOUBLE is the time in milliseconds within which a second click belongs to the first.
const DOUBLE = 400;

// DIM is added to the class of rows that do not match, see classOf.
const DIM = 16;

// Timeline shows the rows of the run and lets its reader zoom, pan and select.
export class Timeline {
  constructor(view, rows, store, canvas, tooltip, details) {
    Object.assign(this, { view, rows, store, canvas, tooltip, details });
    this.box = canvas.parentElement;
    this.spacer = element("div", {});
    this.box.append(this.spacer);
    this.hover = this.pinned = this.focus = NONE;
    this.from = 0;
    this.to = 1;
    this.arrange();
    this.to = Math.max(1, this.end);
    canvas.tabIndex = 0;
    this.surface = new Surface(canvas, (c, w, h) => this.paint(c, w, h));
    this.listen();
    window.addEventListener("resize", () => this.place());
  }

  // arrange makes the lanes and the minimap of the rows.
  arrange() {
    this.groups = buildGroups(this.view, this.rows);
    this.overlays = null;
    const marks = stepMarks(this.view, this.rows);
    if (marks.length > 1)
      this.groups.unshift({ label: "steps", device: null, lanes: [new Uint32Array()], crowded: 0, marks });
    this.end = this.view.span_ns;
    this.minimap = usage(this.rows, this.rows.start.keys(), 0, Math.max(1, this.end), 400);
    this.colorTheme = this.drawnMinimap = null;
    this.failed = failedAt(this.rows, Math.max(1, this.end), 2000);
    this.applyLanes();
  }

  // applyLanes folds, pins and orders the groups as the state says: pairs of a label and flags, in order.
  applyLanes() {
    let kept = [];
    try {
      kept = JSON.parse(this.store.state.lanes ?? "[]");
    } catch {
      // a state of another version
    }
    const at = new Map(kept.map(([label, flags], i) => [label, { i, flags: String(flags) }]));
    this.groups.forEach((g, i) => {
      const known = at.get(g.label);
      g.at = known ? known.i : i;
      g.folded = known ? known.flags.includes("f") : false;
      g.pinned = known ? known.flags.includes("p") : false;
    });
    this.groups.sort((a, b) => a.at - b.at);
    this.place();
  }

  // keepLanes writes the arrangement to the state.
  keepLanes() {
    this.store.set({
      lanes: JSON.stringify(this.groups.map((g) => [g.label, (g.folded ? "f" : "") + (g.pinned ? "p" : "")])),
    });
    this.place();
  }

  // heightOf returns the height of a group's lanes; those of a folded group share the height of one.
  heightOf(g) {
    return g.folded ? Math.max(2, Math.floor(LANE / g.lanes.length)) : LANE;
  }

  // place gives each group its place: pinned ones stay below the axis.
  place() {
    let y = MINIMAP + AXIS;
    const put = (g) => {
      g.y = y;
      g.height = this.heightOf(g);
      g.pitch = g.height + (g.folded ? 0 : GAP);
      y += g.lanes.length * g.pitch + SPACE;
    };
    this.groups.filter((g) => g.pinned).forEach(put);
    this.head = y;
    this.groups.filter((g) => !g.pinned).forEach(put);
    this.content = y;
    const tops = new Float32Array(this.rows.n),
      stays = new Uint8Array(this.rows.n);
    for (const g of this.groups)
      g.lanes.forEach((lane, n) => {
        if (lane.isLaunches) return;
        for (const i of lane) tops[i] = g.y + n * g.pitch;
        if (g.pinned) for (const i of lane) stays[i] = 1;
      });
    this.yOf = (i) => tops[i] - (stays[i] ? 0 : this.top);
    this.overlays ??= new Overlays(LANE);
    this.overlays.take(this.rows, this.view.links, this.yOf);
    const shown = Math.min(Math.max(160, y), Math.max(240, Math.round(innerHeight * 0.62)));
    this.canvas.style.height = shown + "px";
    this.spacer.style.height = Math.max(0, y - shown) + "px";
    this.listLanes();
    this.surface?.fit();
  }

  get top() {
    return Math.round(this.box.scrollTop);
  }

  // listLanes fills the list in which lanes fold, pin and move.
  listLanes() {
    const box = document.getElementById("lanes");
    const button = (text, label, pressed, act) =>
      push(text, act, { "aria-label": label, "title": label, "aria-pressed": pressed });
    const move = (g, by) => {
      const from = this.groups.indexOf(g),
        to = Math.max(0, Math.min(this.groups.length - 1, from + by));
      this.groups.splice(to, 0, ...this.groups.splice(from, 1));
      this.keepLanes();
    };
    if (!box) return;
    show(
      box,
      ...this.groups.slice(0, 200).map((g) =>
        element(
          "li",
          {},
          button(g.folded ? "▸" : "▾", `fold ${g.label}`, String(g.folded), () => this.fold(g)),
          button("pin", `keep ${g.label} in view`, String(g.pinned), () => {
            g.pinned = !g.pinned;
            this.keepLanes();
          }),
          button("↑", `move ${g.label} up`, null, () => move(g, -1)),
          button("↓", `move ${g.label} down`, null, () => move(g, 1)),
          " " + shorten(g.label, 50),
        ),
      ),
    );
  }

  fold(g) {
    g.folded = !g.folded;
    this.keepLanes();
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
    const whole = this.from <= 0 && this.to >= this.end;
    this.store.set({ zoom: whole ? null : `${Math.round(this.from)}-${Math.round(this.to)}` });
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

  // groupAt returns the group at a height of the canvas.
  groupAt(y) {
    const inHead = y < this.head,
      at = inHead ? y : y + this.top;
    return this.groups.find((g) => Boolean(g.pinned) === inHead && at >= g.y && at < g.y + g.lanes.length * g.pitch);
  }

  // at returns what is at a point of the canvas: a row, or several that cannot be told apart, with the time of the pixel.
  at(x, y) {
    const nothing = { row: NONE, several: null },
      g = x < LABELS ? undefined : this.groupAt(y);
    if (g === undefined) return nothing;
    const list = g.lanes[Math.floor(((g.pinned ? y : y + this.top) - g.y) / g.pitch)],
      { starts, ends } = edgesOf(this.rows, list),
      t = this.timeAt(x),
      reach = (this.to - this.from) / this.plot,
      one = (k) => ({ row: list[k], several: null });
    const k = lowerBound(0, list.length, t - reach, (m) => ends[m]);
    if (k >= list.length || starts[k] > t + reach) return nothing;
    const last = lowerBound(k, list.length, t + reach, (m) => starts[m]);
    if (ends[k] - starts[k] >= reach || last - k === 1) return one(k);
    let sum = 0;
    for (let m = k; m < last; m++) {
      if (ends[m] - starts[m] >= reach && starts[m] <= t && t < ends[m]) return one(m);
      sum += ends[m] - starts[m];
    }
    return { row: NONE, several: { count: last - k, sum, from: starts[k], to: ends[last - 1] } };
  }

  paint(c, width, height) {
    const style = getComputedStyle(this.canvas),
      color = (name) => style.getPropertyValue("--" + name).trim() || "#888";
    const look = {
      ink: color("ink"),
      muted: color("muted"),
      faint: color("line"),
      accent: color("accent"),
      ground: color("ground"),
    };
    const dark = (look.dark = document.documentElement.dataset.theme === "dark");
    const s = this.store.state;
    look.filter = `${s.op}|${s.kind}|${s.search}`;
    c.fillStyle = look.ground;
    c.fillRect(0, 0, width, height);
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    this.paintMinimap(c, look);
    this.paintAxis(c, look, height);
    this.useColors(dark);
    this.isFiltered = this.marked || s.op !== null || s.kind !== null;
    for (const pinned of [false, true]) this.paintLanes(c, pinned, look, height);
    this.paintOverlays(c, { top: this.head, bottom: height, ...look });
    const range = this.range ?? s;
    if (range.from !== null || range.to !== null) {
      const a = this.xOf(range.from ?? 0),
        b = this.xOf(range.to ?? this.end);
      c.fillStyle = dark ? "rgba(255,255,255,0.08)" : "rgba(0,0,0,0.08)";
      c.fillRect(LABELS, MINIMAP, Math.max(0, Math.min(a, width) - LABELS), height);
      c.fillRect(Math.max(b, LABELS), MINIMAP, Math.max(0, width - b), height);
      c.fillStyle = look.accent;
      if (a >= LABELS) c.fillRect(a, MINIMAP, 1, height);
      if (b <= width && b >= LABELS) c.fillRect(b, MINIMAP, 1, height);
    }
  }

  // paintLanes draws the lanes that are pinned, or the others. Most rows become pixels of one image: they are too many to
  // be drawn one by one. The others, and texts, are drawn upon it.
  paintLanes(c, pinned, look, height) {
    const first = pinned ? MINIMAP + AXIS : this.head,
      last = pinned ? this.head : height,
      groups = this.groups.filter((g) => Boolean(g.pinned) === pinned),
      image = this.layer(Math.ceil(this.plot), Math.max(1, Math.ceil(height))),
      upon = { boxes: [], labels: [] };
    c.save();
    c.beginPath();
    c.rect(0, first, this.surface.width, last - first);
    c.clip();
    image.pixels.fill(0);
    for (const g of groups) {
      const top = g.y - (pinned ? 0 : this.top);
      if (top + g.lanes.length * g.pitch < first || top > last) continue;
      c.fillStyle = look.ink;
      c.fillText(clip(c, (g.folded ? "▸ " : "▾ ") + g.label, LABELS - 10), 4, top + LANE / 2);
      if (g.crowded > 0 && !g.folded)
        c.fillText(clip(c, `${formatCount(g.crowded)} overlap`, LABELS - 14), 6, top + LANE * (g.lanes.length - 0.5));
      if (g.marks) this.paintMarks(c, g, top, look);
      g.lanes.forEach((lane, n) => {
        const y = top + n * g.pitch;
        if (lane.isLaunches && g.height === LANE) c.fillText(clip(c, "launches", LABELS - 14), 14, y + LANE / 2);
        if (y + g.height >= first && y <= last) this.paintLane(lane, y, g.height, image, look, upon);
      });
    }
    image.context.putImageData(image.data, 0, 0);
    c.imageSmoothingEnabled = false;
    c.beginPath();
    c.rect(LABELS, first, this.plot, last - first);
    c.clip();
    c.drawImage(image.canvas, LABELS, 0);
    for (const [i, x0, x1, y, h] of upon.boxes) this.paintBox(c, i, LABELS + x0, LABELS + x1, y, h, look);
    for (const l of upon.labels) paintLabel(c, l, look);
    c.restore();
  }

  // paintMarks draws steps as brackets: they are no operations.
  paintMarks(c, g, top, look) {
    c.strokeStyle = c.fillStyle = look.muted;
    c.lineWidth = 1;
    let drawn = -Infinity;
    for (const m of g.marks) {
      if (m.from > this.to) break;
      const a = Math.max(LABELS, this.xOf(m.from)),
        b = Math.min(LABELS + this.plot, this.xOf(m.to));
      if (b < LABELS || b < drawn + 2) continue;
      drawn = b;
      c.strokeRect(a + 0.5, top + 3.5, Math.max(0.5, b - a - 1), g.height - 4);
      if (b - a > NAMED) c.fillText(clip(c, m.text, b - a - 6), a + 4, top + LANE / 2 + 1);
    }
  }

  // paintOverlays draws collectives, the critical path of the selected request or of the pinned row's request, and the
  // flows of hovered and pinned rows.
  paintOverlays(c, { top, bottom, ground, ink, accent }) {
    const op = this.store.state.op;
    const xOf = (t) => this.xOf(t),
      perPixel = (this.to - this.from) / this.plot;
    c.save();
    c.beginPath();
    c.rect(LABELS, MINIMAP + AXIS, this.plot, this.content);
    c.clip();
    const lit = (rows) => rows.includes(this.hover) || rows.includes(this.pinned) || this.rows.name[rows[0]] === op;
    this.overlays.paintCollectives(c, { from: this.from, to: this.to, xOf, perPixel, top, bottom, ink, lit });
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

  // classOf returns the class of a row in the columns of several: its kind, KIND_FAILED after an error, plus DIM if it
  // does not match.
  classOf(i) {
    const kind = this.rows.error[i] === NONE ? this.rows.kind[i] : KIND_FAILED;
    return kind + (this.isDim(i, this.marked, this.store.state.op) ? DIM : 0);
  }

  // paintLane draws a lane at height y into the image, and adds what is drawn upon it.
  paintLane(lane, y, height, image, look, upon) {
    const { rows } = this,
      { pixels, width: across } = image,
      perPixel = (this.to - this.from) / this.plot,
      top = Math.max(0, y),
      lines = Math.min(image.height, y + height) - top,
      at = top * across,
      labels = [];
    if (lines <= 0) return;
    let drawn = false;
    const box = (i, x0, x1) => {
      const width = x1 - x0,
        isLit = i === this.hover || i === this.pinned || i === this.focus;
      if (width >= NARROW && (width >= NAMED || isLit || rows.kind[i] === KIND_WAIT)) {
        upon.boxes.push([i, x0, x1, y, height]);
        return;
      }
      const a = Math.max(0, Math.floor(x0)),
        b = Math.min(across, Math.max(a + 1, Math.round(x1) - (width >= NARROW ? 1 : 0))),
        value = this.pixelOf(i, look.dark);
      for (let x = at + a; x < at + b; x++) pixels[x] = value;
      drawn = true;
    };
    const columns = [];
    let label = null;
    const several = (x, k0, k1) => {
      columns.push(x, k0, k1);
      if (label === null || x > label.to + 3) labels.push((label = { from: x, to: x, count: 0, y }));
      label.to = x;
      label.count += k1 - k0;
    };
    visibleRows(rows, lane, this.from, this.to, this.plot, box, several);
    if (drawn)
      for (let line = 1; line < lines; line++) pixels.copyWithin(at + line * across, at, at + across);
    if (columns.length === 0) return;
    if (lane.filter_ !== look.filter)
      Object.assign(
        lane,
        laneSums(rows, lane, (i) => this.classOf(i)),
        { filter_: look.filter },
      );
    const { used } = lane,
      sums = used.map((u) => lane.sums[u]),
      foot = y + height;
    for (let n = 0; n < columns.length; n += 3) {
      const x = columns[n],
        k0 = columns[n + 1],
        k1 = columns[n + 2];
      let busy = 0,
        to = foot;
      for (let u = 0; u < sums.length; u++) busy += sums[u][k1] - sums[u][k0];
      const tall = Math.max((LEAST * height) / LANE, Math.min(1, busy / perPixel) * height);
      for (let u = 0; u < sums.length; u++) {
        const part = sums[u][k1] - sums[u][k0],
          from = busy > 0 ? to - (part / busy) * tall : foot - tall;
        if (part === 0 && busy > 0) continue;
        const value = this.classPixels[used[u]],
          end = Math.min(image.height, Math.round(to));
        for (let line = Math.max(0, Math.round(from)); line < end; line++) pixels[line * across + x] = value;
        to = from;
      }
    }
    if (height < LANE) return;
    const noun = lane.isLaunches ? "launching call" : rows.kind[lane[0]] < KIND_SPAN ? "operation" : "row";
    for (const l of labels)
      if (l.count > 1 && l.to - l.from >= LABELLED) upon.labels.push({ ...l, text: plural(l.count, noun) });
  }

  // paintBox draws a row. Calls that wait are hatched.
  paintBox(c, i, x0, x1, y, height, look) {
    const rows = this.rows,
      colors = this.colorsOf(i, look.dark),
      w = x1 - x0 - 0.5;
    c.globalAlpha = this.isDim(i, this.marked, this.store.state.op) ? 0.22 : 1;
    c.fillStyle = colors.fill;
    c.fillRect(x0, y, w, height);
    if (rows.kind[i] === KIND_WAIT) {
      c.fillStyle = this.overlays.hatch(c, look.ink);
      c.fillRect(x0, y, w, height);
    }
    if (w > NAMED && height >= LANE) {
      c.fillStyle = colors.text;
      const left = Math.max(x0, LABELS) + 3;
      c.fillText(clip(c, this.view.names[rows.name[i]], x0 + w - left - 3), left, y + LANE / 2 + 0.5);
    }
    c.globalAlpha = 1;
    if (i !== this.hover && i !== this.pinned && i !== this.focus) return;
    c.strokeStyle = look.ink;
    c.lineWidth = i === this.hover ? 1 : 2;
    c.strokeRect(x0 + 0.5, y + 0.5, Math.max(1, w - 1), height - 1);
  }

  // isDim reports whether a row does not match the kind, the names or the operation searched for.
  isDim(i, marked, selected) {
    const { kind } = this.store.state,
      name = this.rows.name[i];
    return (
      (marked && !marked[name]) || (selected ?? name) !== name || (kind ?? this.rows.kind[i]) !== this.rows.kind[i]
    );
  }

  // layer returns an image of a size.
  layer(width, height) {
    if (this.image?.width !== width || this.image.height !== height) {
      const canvas = new OffscreenCanvas(width, height),
        context = canvas.getContext("2d", { willReadFrequently: true }),
        data = context.createImageData(width, height);
      this.image = { width, height, canvas, context, data, pixels: new Uint32Array(data.data.buffer) };
    }
    return this.image;
  }

  // useColors prepares the colours of a theme.
  useColors(dark) {
    if (this.colorTheme === dark) return;
    this.colorTheme = dark;
    this.colors = [];
    this.pixels = new Uint32Array(16 * this.view.names.length);
    this.classPixels = Array.from({ length: 2 * DIM }, (_, u) =>
      u >= DIM ? faded(kindPixel(u % DIM, dark)) : kindPixel(u, dark),
    );
  }

  // keyOf numbers the colours of rows, by name and kind.
  keyOf(i) {
    return this.rows.name[i] * 16 + (this.rows.error[i] === NONE ? this.rows.kind[i] : KIND_FAILED);
  }

  colorsOf(i, dark) {
    const key = this.keyOf(i);
    return (this.colors[key] ??= boxColors(key % 16, this.view.names[this.rows.name[i]], dark));
  }

  // pixelOf returns the colour of a row in the image.
  pixelOf(i, dark) {
    const value = (this.pixels[this.keyOf(i)] ||= this.colorsOf(i, dark).pixel);
    return this.isFiltered && this.isDim(i, this.marked, this.store.state.op) ? faded(value) : value;
  }

  // paintMinimap draws the busy share of the devices over time, divided by kind, and the window in it.
  paintMinimap(c, look) {
    const key = [this.surface.width, this.surface.ratio, look.dark].join();
    if (this.drawnMinimap?.key !== key) {
      const canvas = new OffscreenCanvas(this.plot * this.surface.ratio, MINIMAP * this.surface.ratio);
      const context = canvas.getContext("2d");
      context.scale(this.surface.ratio, this.surface.ratio);
      this.paintUsage(context, look);
      this.drawnMinimap = { key, canvas };
    }
    c.drawImage(this.drawnMinimap.canvas, LABELS, 0, this.plot, MINIMAP);
    c.fillStyle = look.muted;
    c.fillText("busy, by kind", 6, MINIMAP / 2 - 3);
    const a = LABELS + (this.from / this.end) * this.plot,
      b = LABELS + (this.to / this.end) * this.plot;
    c.strokeStyle = look.accent;
    c.lineWidth = 1.5;
    c.strokeRect(a, 2, Math.max(2, b - a), MINIMAP - 12);
  }

  paintUsage(c, { faint, dark }) {
    const h = MINIMAP - 14,
      w = this.plot,
      { busy, kinds } = this.minimap;
    c.fillStyle = faint;
    c.fillRect(0, h + 3, w, 1);
    const n = busy.length,
      at = new Float64Array(n).fill(h + 3);
    kinds.forEach((sums, kind) => {
      if (!sums) return;
      c.fillStyle = kindColor(kind, dark);
      for (let k = 0; k < n; k++) {
        const all = kinds.reduce((sum, s) => sum + (s ? s[k] : 0), 0),
          part = all > 0 ? (h * busy[k] * sums[k]) / all : 0;
        c.fillRect((k * w) / n, (at[k] -= part), w / n + 0.5, part);
      }
    });
    c.fillStyle = kindColor(KIND_FAILED, dark);
    for (const x of this.failed) c.fillRect(x * (w - 3), h + 4, 3, 7);
  }

  paintAxis(c, { muted, faint }, height) {
    const y = MINIMAP + AXIS / 2 - 2,
      axis = axisLabels(this.from, this.to, Math.max(2, this.plot / 110));
    c.fillStyle = muted;
    if (axis.text) c.fillText(axis.text, 6, y);
    c.textAlign = "center";
    for (const { t, text } of axis.ticks) {
      const x = this.xOf(t);
      c.fillStyle = faint;
      c.fillRect(x, MINIMAP + AXIS - 4, 1, height);
      c.fillStyle = muted;
      c.fillText(text, Math.max(LABELS + 18, Math.min(x, LABELS + this.plot - 30)), y);
    }
    c.textAlign = "left";
  }

  listen() {
    const at = (e) => {
      const box = this.canvas.getBoundingClientRect();
      return [e.clientX - box.left, e.clientY - box.top];
    };
    const canvas = this.canvas;
    let drag = null,
      clicked = { at: -Infinity, row: NONE, several: null, x: 0 };
    this.busy = () => drag !== null;
    const touches = new Map();
    this.box.addEventListener("scroll", () => this.surface.draw(), { passive: true });
    canvas.addEventListener(
      "wheel",
      (e) => {
        const [x] = at(e),
          isZoom = e.ctrlKey || e.metaKey; // a pinch on a trackpad, too
        if (!isZoom && !e.shiftKey && Math.abs(e.deltaX) <= Math.abs(e.deltaY)) return; // scrolls
        e.preventDefault();
        if (!isZoom) {
          const by = ((e.deltaX || e.deltaY) / this.plot) * (this.to - this.from);
          this.move(this.from + by, this.to + by);
        } else {
          const by = e.deltaY * (e.deltaMode === 1 ? 20 : 1);
          this.zoom(Math.exp(Math.max(-300, Math.min(300, by)) * 0.004), this.timeAt(Math.max(LABELS, x)));
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
        scroll: this.box.scrollTop,
        clientY: e.clientY,
      };
      if (kind === "brush") this.brush(x);
    });
    canvas.addEventListener("pointermove", (e) => {
      const [x, y] = at(e);
      if (drag === null) {
        const found = this.at(x, y);
        canvas.style.cursor = x < LABELS && this.groupAt(y) ? "pointer" : "";
        this.setHover(found.row, e, found.several);
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
        this.box.scrollTop = drag.scroll - (e.clientY - drag.clientY);
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
      if (drag !== null && !drag.moved && drag.kind === "pan" && e.timeStamp > clicked.at + DOUBLE) {
        const [x, y] = at(e),
          g = this.groupAt(y);
        clicked = { ...this.at(x, y), x, at: e.timeStamp };
        if (x < LABELS && g) this.fold(g);
        else this.pin(clicked.row);
      }
      drag = null;
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", (e) => {
      touches.delete(e.pointerId);
      drag = null;
    });
    canvas.addEventListener("pointerleave", () => this.setHover(NONE));
    canvas.addEventListener("dblclick", () => {
      const { row, several, x } = clicked; // the details beside have moved what is there now
      if (row !== NONE) this.zoomTo(this.rows.start[row], this.rows.start[row] + this.rows.dur[row], 0.25);
      else if (several) this.zoomTo(several.from, several.to, 0.25);
      else if (x >= LABELS) this.zoomTo(0, this.end);
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
      actions.ArrowLeft = () => this.step(-1, 0);
      actions.ArrowRight = () => this.step(1, 0);
      actions.ArrowUp = () => this.step(0, -1);
      actions.ArrowDown = () => this.step(0, 1);
      actions.Enter = () => this.pin(this.focus);
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

  // step moves the focus to the row before or after in its lane, or to the nearest one in a lane above or below.
  step(along, across) {
    const lanes = this.groups.filter((g) => !g.folded).flatMap((g) => g.lanes.filter((l) => l.length > 0 && !l.isLaunches)),
      rows = this.rows;
    if (lanes.length === 0) return;
    const first = (lane, t) =>
      Math.min(
        lane.length - 1,
        lowerBound(0, lane.length, t, (m) => rows.start[lane[m]] + rows.dur[lane[m]]),
      );
    let lane = lanes.find(
      (l) => l[lowerBound(0, l.length, rows.start[this.focus] ?? Infinity, (m) => rows.start[l[m]])] === this.focus,
    );
    if (this.focus === NONE || !lane) {
      lane = lanes[0];
      this.focus = lane[first(lane, this.from)];
    } else if (along !== 0) {
      const k = lowerBound(0, lane.length, rows.start[this.focus], (m) => rows.start[lane[m]]) + along;
      this.focus = lane[Math.max(0, Math.min(lane.length - 1, k))];
    } else {
      const next = lanes[Math.max(0, Math.min(lanes.length - 1, lanes.indexOf(lane) + across))];
      if (next !== lane) this.focus = next[first(next, rows.start[this.focus] + 1)];
    }
    this.reveal(this.focus);
    const said = document.getElementById("said");
    if (said)
      said.textContent = printable(
        `${this.view.names[rows.name[this.focus]]}, ${formatTime(rows.dur[this.focus])}, at ${formatTime(rows.start[this.focus])}`,
      );
    this.surface.draw();
  }

  // reveal moves a row into view, at least some pixels wide.
  reveal(row) {
    const a = this.rows.start[row],
      b = a + this.rows.dur[row],
      width = Math.min(this.to - this.from, Math.max(20, b - a) * (this.plot / NARROW));
    if (width < this.to - this.from || a < this.from || b > this.to)
      this.move((a + b) / 2 - width / 2, (a + b) / 2 + width / 2);
    const y = this.yOf(row);
    if (y < this.head || y > this.surface.height - LANE)
      this.box.scrollTop += y - (this.head + this.surface.height) / 2;
  }

  setHover(row, e, several = null) {
    if (row !== this.hover) {
      this.hover = row;
      this.surface.draw();
    }
    this.tooltip(row, e, several);
  }

  pin(row) {
    this.pinned = row;
    if (row !== NONE) this.focus = row;
    this.store.set({ pin: row === NONE ? null : row });
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

// faded returns a pixel that lets the ground through.
const faded = (pixel) => ((pixel & 0xffffff) | 0x38000000) >>> 0;

// paintLabel writes the number of rows upon their columns.
function paintLabel(c, { from, to, y, text }, { ground, ink }) {
  const w = text.length * PER_CHARACTER + 8;
  if (w > to - from) return;
  c.fillStyle = ground;
  c.globalAlpha = 0.82;
  c.fillRect(LABELS + from + 2, y + 1, w, LANE - 7);
  c.globalAlpha = 1;
  c.fillStyle = ink;
  c.fillText(text, LABELS + from + 6, y + 7);
}

// PER_CHARACTER is the usual width of a character in pixels. fitting has texts already measured; MOST_FITTING bounds them.
const PER_CHARACTER = 6.2,
  fitting = new Map(),
  MOST_FITTING = 20000;

// clip shortens a text to a width in pixels.
export function clip(c, text, width) {
  let known = fitting.get(text);
  if (known === undefined) {
    if (fitting.size >= MOST_FITTING) fitting.clear();
    const forms = [text, shortNames.get(text) ?? text].map((t) => printable(t.slice(0, 300)));
    known = forms.map((t) => ({ text: t, width: Math.min(t.length * PER_CHARACTER, c.measureText(t).width), cut: [] }));
    fitting.set(text, known);
  }
  for (const form of known) if (form.width <= width) return form.text;
  const short = known[1],
    n = Math.max(0, Math.floor(width / PER_CHARACTER) - 1);
  return n === 0 ? "" : (short.cut[n] ??= short.text.slice(0, n) + "…");
}
