// The lanes of the timeline: which rows stand in which lane, and what of a lane can be told apart at a scale.

import { KIND_SPAN, NONE, aboveOf, makeLanes } from "./rows.js";

const MAX_LANES = 24;

// buildGroups arranges rows into groups of lanes: the streams of devices first, then the threads of the host with their
// operators, ranges and calls, the host's views without a thread by device, and other spans.
export function buildGroups(view, rows) {
  const found = new Map();
  const order = (x) => (x === NONE ? Infinity : x);
  const groupOf = (i) => {
    const kind = rows.kind[i],
      at = kind < KIND_SPAN ? 0 : rows.thread[i] !== NONE ? 1 : kind === KIND_SPAN ? 3 : 2,
      device = at === 0 || at === 2 ? rows.device[i] : NONE,
      stream = at === 0 ? rows.stream[i] : NONE,
      thread = at === 1 ? rows.thread[i] : NONE;
    const part = at === 1 ? thread : (device === NONE ? 0 : device + 1) * 2 ** 32 + stream,
      key = 4 * part + at;
    let g = found.get(key);
    if (g === undefined) found.set(key, (g = { at, device, stream, thread, rows: [], launched: [] }));
    return g;
  };
  for (let i = 0; i < rows.n; i++) {
    groupOf(i).rows.push(i);
    const host = Number.isNaN(rows.launch[i]) ? NONE : launcherOf(rows, i);
    if (host !== NONE) groupOf(host).launched.push(i);
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
      if (g.launched.length > 0) lanes.push(launchLane(rows, g.launched));
      return { label: label(g), device: g.at === 0 ? g.device : null, lanes, crowded, folded: false, pinned: false };
    });
}

// launcherOf returns the host's row that launched row i of a device, or NONE.
export function launcherOf(rows, i) {
  let above = aboveOf(rows, i);
  for (let n = 0; above !== NONE && rows.kind[above] < KIND_SPAN && n < 64; n++) above = aboveOf(rows, above);
  return above !== NONE && rows.kind[above] > KIND_SPAN ? above : NONE;
}

// launchLane returns a lane of operations of devices at the times of the calls that launched them.
function launchLane(rows, launched) {
  const lane = Uint32Array.from(launched.sort((a, b) => rows.launch[a] - rows.launch[b])),
    starts = new Float64Array(lane.length),
    ends = new Float64Array(lane.length);
  lane.forEach((i, k) => {
    starts[k] = rows.launch[i];
    ends[k] = rows.launched[i];
  });
  return Object.assign(lane, { edges: { starts, ends }, isLaunches: true, overlaps: true });
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
  const n = lane.length,
    { starts, ends } = edgesOf(rows, lane),
    classes = new Uint8Array(n),
    sums = [];
  for (let k = 0; k < n; k++) {
    const c = (classes[k] = classOf(lane[k]));
    sums[c] ??= new Float64Array(n + 1);
  }
  const used = [...sums.keys()].filter((c) => sums[c]);
  for (const u of used) {
    const sum = sums[u];
    for (let k = 0; k < n; k++) sum[k + 1] = sum[k] + (classes[k] === u ? ends[k] - starts[k] : 0);
  }
  return { used, sums };
}

// edgesOf returns the starts and the ends of the rows of a lane.
export function edgesOf(rows, lane) {
  if (lane.edges) return lane.edges;
  const starts = new Float64Array(lane.length),
    ends = new Float64Array(lane.length);
  for (let k = 0; k < lane.length; k++) {
    starts[k] = rows.start[lane[k]];
    ends[k] = starts[k] + rows.dur[lane[k]];
  }
  return (lane.edges = { starts, ends });
}

// visibleRows divides what is visible of a lane between the pixels 0 and width. It calls box for each row at least a
// pixel wide, with its edges, and several for the narrower ones that start in a pixel: lane[k0] to lane[k1 - 1].
export function visibleRows(rows, lane, from, to, width, box, several) {
  const scale = width / (to - from),
    n = lane.length,
    { starts, ends } = edgesOf(rows, lane);
  const isWide = (k) => (ends[k] - starts[k]) * scale >= 1;
  let k = 0;
  for (let high = n; k < high; ) {
    const mid = (k + high) >>> 1;
    if (ends[mid] > from || starts[mid] >= from) high = mid;
    else k = mid + 1;
  }
  while (k < n) {
    const a = starts[k];
    if (a >= to) return;
    if (isWide(k)) {
      box(lane[k], Math.max((a - from) * scale, -1), Math.min((ends[k] - from) * scale, width + 1));
      k++;
      continue;
    }
    const pixel = Math.max(0, Math.floor((a - from) * scale)),
      next = from + (pixel + 1) / scale;
    // Without overlap only the last row that starts in the pixel can be wide.
    let last = k + 1;
    for (let step = 1; last < n && starts[last] < next; step *= 2) last = Math.min(n, last + step);
    for (let low = k + 1; low < last; ) {
      const mid = (low + last) >>> 1;
      if (starts[mid] < next) low = mid + 1;
      else last = mid;
    }
    if (last - 1 > k && isWide(last - 1)) last--;
    if (lane.overlaps) for (let m = k + 1; m < last; m++) if (isWide(m)) last = m;
    several(pixel, k, last);
    k = last;
  }
}
