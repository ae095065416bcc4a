// Overlays of the timeline: collectives across devices with their waits, flows from launches to operations and along
// links, and critical paths.

import { KIND_HOST, NONE, aboveOf } from "./rows.js";

// The least width of drawn collectives and waits, and the most drawn at once.
const LEAST_COLLECTIVE = 8;
const LEAST_WAIT = 4;
const MOST_COLLECTIVES = 400;

// collectivesOf returns the rows of each collective, with the time from their first start to their last end, and the
// transfer: the shortest duration among them. The rest of a row's duration is its wait.
export function collectivesOf(rows) {
  const all = [];
  for (let i = 0; i < rows.n; i++) {
    if (rows.group[i] === NONE) continue;
    const c = (all[rows.group[i]] ??= { rows: [], from: Infinity, to: -Infinity, transfer: Infinity });
    c.rows.push(i);
    c.from = Math.min(c.from, rows.start[i]);
    c.to = Math.max(c.to, rows.start[i] + rows.dur[i]);
    c.transfer = Math.min(c.transfer, rows.dur[i]);
  }
  return all.filter((c) => c !== undefined && c.rows.length > 1);
}

// flowsOf returns the flows of a row: pairs of a time and a row, for start and end. A launch starts in its row on the
// host, or in front of the operation if this row is unknown. Links are those of the row and of the rows above it.
export function flowsOf(rows, links, row) {
  const flows = [];
  if (rows.launch[row] <= rows.start[row]) {
    let from = row;
    for (let i = aboveOf(rows, row), n = 0; i !== NONE && n < 64; i = aboveOf(rows, i), n++) {
      if (rows.kind[i] !== KIND_HOST) continue;
      from = i;
      break;
    }
    flows.push({ kind: "launch", from, at: rows.launch[row], to: row, end: rows.start[row] });
  }
  for (let i = row, n = 0; i !== NONE && n < 64; i = rows.parent[i], n++) {
    for (const [from, to] of links.get(i) ?? [])
      flows.push({ kind: "link", from: to, at: rows.start[to], to: from, end: rows.start[from] });
  }
  return flows;
}

// linksByRow returns the links at either end of a row.
export function linksByRow(pairs) {
  const links = new Map();
  const add = (row, pair) => {
    const list = links.get(row);
    if (list === undefined) links.set(row, [pair]);
    else list.push(pair);
  };
  for (const pair of pairs ?? []) {
    add(pair[0], pair);
    if (pair[1] !== pair[0]) add(pair[1], pair);
  }
  return links;
}

export class Overlays {
  constructor(lane) {
    this.lane = lane; // its height
  }

  // take takes rows, their links and the function for the top of a row's lane.
  take(rows, pairs, yOf) {
    if (this.pairs !== pairs || this.n !== rows.n) {
      this.collectives = collectivesOf(rows);
      this.links = linksByRow(pairs);
    }
    Object.assign(this, { rows, pairs, n: rows.n, yOf });
  }

  // paintCollectives hatches waits, and joins the rows of the collectives that are lit, between the pixels top and bottom.
  // xOf returns the pixel of a time, perPixel is how many nanoseconds one takes.
  paintCollectives(c, { from, to, xOf, perPixel, top, bottom, ink, lit }) {
    const { rows, yOf, lane } = this;
    const lines = new Path2D(),
      waits = new Path2D();
    let drawn = 0;
    for (const one of this.collectives) {
      if (one.to < from || one.from > to || one.to - one.from < LEAST_COLLECTIVE * perPixel) continue;
      if (++drawn > MOST_COLLECTIVES) break;
      const isLit = lit(one.rows);
      one.rows.forEach((i, k) => {
        if (!isLit) return;
        const x = Math.round(xOf(rows.start[i] + rows.dur[i] - one.transfer)) + 0.5;
        if (k === 0) lines.moveTo(x, yOf(i) + lane / 2);
        else lines.lineTo(x, yOf(i) + lane / 2);
      });
      for (const i of one.rows) {
        const wait = rows.dur[i] - one.transfer;
        if (wait < LEAST_WAIT * perPixel || yOf(i) + lane < top || yOf(i) > bottom) continue;
        const a = xOf(Math.max(rows.start[i], from)),
          b = xOf(Math.min(rows.start[i] + wait, to));
        if (b > a) waits.rect(a, yOf(i), b - a, lane);
      }
    }
    if (drawn === 0) return;
    c.fillStyle = this.hatch(c, ink);
    c.fill(waits);
    c.strokeStyle = ink;
    c.lineWidth = 1;
    c.globalAlpha = 0.7;
    c.stroke(lines);
    c.globalAlpha = 1;
  }

  // hatch returns a pattern of thin diagonal lines.
  hatch(c, ink) {
    if (this.hatched?.ink === ink) return this.hatched.pattern;
    const size = 6,
      canvas = new OffscreenCanvas(size, size),
      p = canvas.getContext("2d");
    p.strokeStyle = ink;
    p.globalAlpha = 0.55;
    p.beginPath();
    for (const d of [-size, 0, size]) {
      p.moveTo(d - 1, size + 1);
      p.lineTo(d + size + 1, -1);
    }
    p.stroke();
    this.hatched = { ink, pattern: c.createPattern(canvas, "repeat") };
    return this.hatched.pattern;
  }

  // paintPath draws a critical path, segments of a row, a start and a duration, as a line along the foot of their
  // boxes.
  paintPath(c, segments, { from, to, xOf, ground, ink }) {
    const line = new Path2D();
    let level = null,
      isOn = false;
    for (const [row, start, dur] of segments) {
      if (row >= 0) level = this.yOf(row) + this.lane - 3;
      if (level === null || start + dur < from || start > to) continue;
      const x = xOf(Math.max(start, from));
      if (xOf(start + dur) - xOf(start) < 1) continue; // they would make a blot
      if (isOn) line.lineTo(x, level);
      else line.moveTo(x, level);
      line.lineTo(xOf(Math.min(start + dur, to)), level);
      isOn = true;
    }
    c.lineJoin = "round";
    for (const [style, width] of [
      [ground, 5],
      [ink, 2.5],
    ]) {
      c.strokeStyle = style;
      c.lineWidth = width;
      c.stroke(line);
    }
  }

  // paintFlows draws the flows of a row.
  paintFlows(c, row, { xOf, accent }) {
    const { yOf, lane } = this;
    c.strokeStyle = c.fillStyle = accent;
    c.lineWidth = 1.5;
    for (const f of flowsOf(this.rows, this.links, row)) {
      const ax = xOf(f.at),
        ay = yOf(f.from) + lane / 2,
        bx = xOf(f.end),
        by = yOf(f.to) + lane / 2;
      const bend = Math.max(12, Math.abs(bx - ax) / 2);
      c.setLineDash(f.kind === "launch" ? [] : [5, 3]);
      c.beginPath();
      c.moveTo(ax, ay);
      c.bezierCurveTo(ax + bend, ay, bx - bend, by, bx, by);
      c.stroke();
      c.setLineDash([]);
      c.beginPath();
      c.arc(ax, ay, 3, 0, 7);
      c.moveTo(bx, by);
      c.lineTo(bx - 6, by - 4);
      c.lineTo(bx - 6, by + 4);
      c.fill();
    }
  }
}
