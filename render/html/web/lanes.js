// The lanes of the timeline: which rows stand in which lane, and what of a lane can be told apart at a scale.

import { KIND_SPAN, NONE, lowerBound, makeLanes } from "./rows.js";

const MAX_LANES = 24;

// buildGroups arranges rows into groups of lanes: the streams of devices first, then the threads of the host with their
// operators, ranges and calls, the host's views without a thread by device, and other spans.
export function buildGroups(view, rows) {
  const found = new Map();
  const order = (x) => (x === NONE ? Infinity : x);
  for (let i = 0; i < rows.n; i++) {
    const kind = rows.kind[i],
      [at, device, stream, thread] =
        kind < KIND_SPAN
          ? [0, rows.device[i], rows.stream[i], NONE]
          : rows.thread[i] !== NONE
            ? [1, NONE, NONE, rows.thread[i]]
            : [kind === KIND_SPAN ? 3 : 2, kind === KIND_SPAN ? NONE : rows.device[i], NONE, NONE];
    const key = `${at}.${order(device)}.${order(stream)}.${order(thread)}`;
    let g = found.get(key);
    if (g === undefined) found.set(key, (g = { at, device, stream, thread, rows: [] }));
    g.rows.push(i);
  }
  const severalRanks = new Set((view.threads ?? []).map((t) => t.rank)).size > 1;
  const label = (g) => {
    const device = g.device === NONE ? "no device" : view.devices[g.device].label;
    if (g.at === 3) return "requests and spans";
    if (g.at === 2) return "host: " + device;
    if (g.at === 0) return g.stream === NONE ? device : device + ", stream " + g.stream;
    const { rank, id } = view.threads[g.thread];
    return (severalRanks && rank !== null ? rank + "/" : "") + "thread " + id;
  };
  return [...found.values()]
    .sort(
      (a, b) =>
        a.at - b.at ||
        order(a.device) - order(b.device) ||
        order(a.stream) - order(b.stream) ||
        order(a.thread) - order(b.thread),
    )
    .map((g) => {
      const { lanes, crowded } = makeLanes(rows, g.rows, MAX_LANES);
      if (crowded > 0) lanes.at(-1).overlaps = true;
      return { label: label(g), device: g.at === 0 ? g.device : null, lanes, crowded, folded: false, pinned: false };
    });
}

// stepMarks returns the time from the first start to the last end of each step's operations. Steps with a number that
// comes again are left out: operations state only the number.
export function stepMarks(view, rows) {
  const marks = new Map(),
    reported = new Map(),
    again = new Set();
  for (const s of view.report?.steps ?? []) {
    if (reported.has(s.step)) again.add(s.step);
    reported.set(s.step, s);
  }
  for (let i = 0; i < rows.n; i++) {
    if (rows.kind[i] >= KIND_SPAN || rows.step[i] === NONE) continue;
    const number = view.steps[rows.step[i]];
    if (!reported.has(number) || again.has(number)) continue;
    const m = marks.get(number);
    if (m) m.to = Math.max(m.to, rows.start[i] + rows.dur[i]);
    else {
      const { name, phase } = reported.get(number);
      marks.set(number, {
        from: rows.start[i],
        to: rows.start[i] + rows.dur[i],
        text: (name || "step " + number) + (phase ? ", " + phase : ""),
      });
    }
  }
  return [...marks.values()];
}

// laneSums returns, for each class of the rows of a lane, the running sum of durations: sums[c][k] is that of the rows
// before k.
export function laneSums(rows, lane, classOf) {
  const sums = [];
  let used = [];
  for (let k = 0; k < lane.length; k++) {
    const c = classOf(lane[k]);
    if (sums[c] === undefined) {
      sums[c] = new Float64Array(lane.length + 1);
      used.push(c);
    }
    for (const u of used) sums[u][k + 1] = sums[u][k];
    sums[c][k + 1] += rows.dur[lane[k]];
  }
  used = used.sort((a, b) => a - b);
  return { used, sums };
}

// visibleRows divides what is visible of a lane between the pixels 0 and width. It calls box for each row at least a
// pixel wide, with its edges, and several for the narrower ones that start in a pixel: lane[k0] to lane[k1 - 1].
export function visibleRows(rows, lane, from, to, width, box, several) {
  const scale = width / (to - from);
  const end = (k) => rows.start[lane[k]] + rows.dur[lane[k]],
    isWide = (k) => rows.dur[lane[k]] * scale >= 1;
  let k = lowerBound(0, lane.length, 1, (m) => (end(m) > from || rows.start[lane[m]] >= from ? 1 : 0));
  while (k < lane.length) {
    const a = rows.start[lane[k]];
    if (a >= to) return;
    if (isWide(k)) {
      box(lane[k], Math.max((a - from) * scale, -1), Math.min((end(k) - from) * scale, width + 1));
      k++;
      continue;
    }
    const pixel = Math.max(0, Math.floor((a - from) * scale)),
      next = from + (pixel + 1) / scale;
    // Without overlap only the last row that starts in the pixel can be wide.
    let last = k + 1,
      step = 1;
    while (last < lane.length && rows.start[lane[last]] < next) {
      last = Math.min(lane.length, last + step);
      step *= 2;
    }
    last = lowerBound(k + 1, last, next, (m) => rows.start[lane[m]]);
    if (last - 1 > k && isWide(last - 1)) last--;
    if (lane.overlaps) for (let m = k + 1; m < last; m++) if (isWide(m)) last = m;
    several(pixel, k, last);
    k = last;
  }
}
