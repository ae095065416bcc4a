// The operations and spans of a run as columns, ordered by start.

// Kinds of rows. From KIND_SPAN on, rows are not operations of a device: spans, the host's view of operations, ranges and
// runtime calls on its threads, and calls that wait. In a run without any device, the figures are of the host's view;
// see isOperation.
export const KINDS = [
  "unknown",
  "compute",
  "collective",
  "memory",
  "io",
  "control",
  "span",
  "host",
  "range",
  "call",
  "wait",
];
export const KIND_SPAN = 6;
export const KIND_HOST = 7;
export const KIND_WAIT = 10;

// NONE is an absent index.
export const NONE = 0xffffffff;

// A Reader reads unsigned LEB128 numbers below 2^53.
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  // fill reads a number for each element of a column.
  fill(column) {
    const b = this.bytes,
      n = column.length;
    let at = this.at;
    for (let i = 0; i < n; i++) {
      let c = b[at++];
      if (c < 0x80) {
        column[i] = c;
        continue;
      }
      let x = c & 0x7f;
      for (let factor = 128; c >= 0x80; factor *= 128) {
        c = b[at++];
        if (c === undefined) break;
        x += (c & 0x7f) * factor;
      }
      column[i] = x;
    }
    this.at = at;
    if (at > b.length) throw new Error("the operations in this page are cut off");
    return column;
  }
}

// firstAlike returns, for each row, the first row of its name and shape.
function firstAlike(name, shape) {
  const n = name.length,
    bits = Math.max(4, Math.ceil(Math.log2(2 * n + 1))),
    slots = new Int32Array(1 << bits),
    first = new Uint32Array(n);
  for (let i = 0; i < n; i++) {
    let at = Math.imul(name[i] + Math.imul(shape[i], 0x85ebca6b), 0x9e3779b1) >>> (32 - bits);
    while (slots[at] !== 0 && (name[slots[at] - 1] !== name[i] || shape[slots[at] - 1] !== shape[i]))
      at = (at + 1) & ((1 << bits) - 1);
    if (slots[at] === 0) slots[at] = i + 1;
    first[i] = slots[at] - 1;
  }
  return first;
}

// decodeRows reads the columns of n rows, one column after the other:
//
//	start     distance from the row before, ns
//	dur       ns
//	self      zigzag code of the distance to dur, ns
//	name      index of names
//	kind      index of KINDS
//	device    index of devices plus one, 0 for none
//	stream    number plus one, 0 for none
//	parent    0 for none, else 1 + the zigzag code of the distance to the row
//	request   0 for none, 1 for that of the parent, else index of requests plus two
//	shape     index of shapes
//	memory    bytes plus one, 0 for as many as the row before of its name and shape;
//	          0 bytes stand for unknown
//	flops     likewise
//	step      index of steps plus one, 0 for none
//	launch    0 for none, else 1 + the zigzag code of the distance to start, ns
//	call      how long the launching call took, ns
//	group     number of the collective plus one, 0 for none
//	launcher  the operator that launched it, as parent; 0 where that is above it anyway
//	arguments index of arguments, as memory; 0 for none
//	maker     index of names plus one: what launched it where that is no row, 0 for none
//	error     index of errors plus one, 0 for a row that did not fail
//	thread    index of threads plus one, 0 if it is unknown
export function decodeRows(bytes, n) {
  const r = new Reader(bytes),
    codes = new Float64Array(n);
  // Each of these functions has a loop of its own: a shared one would call a function for each number.
  const optional = () => {
    const out = r.fill(new Uint32Array(n));
    for (let i = 0; i < n; i++) out[i]--; // 0 becomes NONE
    return out;
  };
  const signed = (z) => (z % 2 === 0 ? z / 2 : -(z + 1) / 2);
  const distant = () => {
    const out = new Uint32Array(n);
    r.fill(codes);
    for (let i = 0; i < n; i++) out[i] = codes[i] === 0 ? NONE : i - signed(codes[i] - 1);
    return out;
  };
  const start = r.fill(new Float64Array(n));
  for (let i = 1; i < n; i++) start[i] += start[i - 1];
  const dur = r.fill(new Float64Array(n)),
    self = r.fill(new Float64Array(n));
  for (let i = 0; i < n; i++) self[i] = dur[i] - signed(self[i]);
  const name = r.fill(new Uint32Array(n)),
    kind = r.fill(new Uint8Array(n));
  const rows = { n, start, dur, self, name, kind, device: optional(), stream: optional(), parent: distant() };
  const request = (rows.request = r.fill(new Uint32Array(n)));
  for (let i = 0; i < n; i++)
    request[i] = request[i] === 0 ? NONE : request[i] === 1 ? request[rows.parent[i]] : request[i] - 2;
  const shape = (rows.shape = r.fill(new Uint32Array(n))),
    first = firstAlike(name, shape),
    last = new Float64Array(n);
  const usual = (none) => {
    const out = r.fill(new Float64Array(n));
    last.fill(none);
    for (let i = 0; i < n; i++) {
      if (out[i] !== 0) last[first[i]] = out[i] - 1 || none;
      out[i] = last[first[i]];
    }
    return out;
  };
  rows.memory = usual(NaN);
  rows.flops = usual(NaN);
  rows.step = optional();
  const launch = (rows.launch = r.fill(new Float64Array(n)));
  for (let i = 0; i < n; i++) launch[i] = launch[i] === 0 ? NaN : start[i] - signed(launch[i] - 1);
  const launched = (rows.launched = r.fill(new Float64Array(n)));
  for (let i = 0; i < n; i++) launched[i] += launch[i];
  rows.group = optional();
  rows.launcher = distant();
  rows.arguments = new Uint32Array(usual(0));
  rows.maker = optional();
  rows.error = optional();
  rows.thread = optional();
  if (r.at !== bytes.length) throw new Error("the operations in this page do not end where they should");
  rows.hostOnly = kind.every((k) => k >= KIND_SPAN);
  return rows;
}

// aboveOf returns the row above row i in its stack: its launching operator, or its parent.
export const aboveOf = (rows, i) => (rows.launcher[i] !== NONE ? rows.launcher[i] : rows.parent[i]);

// isOperation reports whether row i counts in the figures: an operation of a device, or of the host in a run without
// any.
export const isOperation = (rows, i) => rows.kind[i] < KIND_SPAN || (rows.hostOnly && rows.kind[i] === KIND_HOST);

// lowerBound returns the first i in [from, to) with at(i) >= x, or to.
export function lowerBound(from, to, x, at) {
  while (from < to) {
    const mid = (from + to) >>> 1;
    if (at(mid) < x) from = mid + 1;
    else to = mid;
  }
  return from;
}

// distance returns the nanoseconds between two Unix times in decimal.
export const distance = (from, to) => Number(BigInt(to) - BigInt(from));

// sameRow returns the row of other equal to row i of rows, or NONE. shift is the distance from times in rows to times
// in other.
export function sameRow(rows, i, other, shift, nameOf, otherNameOf) {
  if (i === NONE) return NONE;
  const start = rows.start[i] + shift;
  for (let k = lowerBound(0, other.n, start, (m) => other.start[m]); k < other.n && other.start[k] === start; k++) {
    if (
      other.dur[k] === rows.dur[i] &&
      other.kind[k] === rows.kind[i] &&
      otherNameOf(other.name[k]) === nameOf(rows.name[i])
    )
      return k;
  }
  return NONE;
}

// makeLanes divides rows, ordered by start, into lanes without overlap: each row goes to the first free lane. Beyond
// limit the last lane holds the rest, with overlap; crowded counts them.
export function makeLanes(rows, indices, limit) {
  const ends = [],
    lanes = [];
  let crowded = 0;
  for (const i of indices) {
    let k = 0;
    while (k < ends.length && ends[k] > rows.start[i]) k++;
    if (k >= limit) {
      k = limit - 1;
      crowded++;
    }
    if (k === lanes.length) lanes.push([]);
    lanes[k].push(i);
    ends[k] = Math.max(ends[k] ?? 0, rows.start[i] + rows.dur[i]);
  }
  return { lanes: lanes.map((l) => Uint32Array.from(l)), crowded };
}

// A Selection is a filter of rows: those with a start in [from, to), with matching names, of a device or request. Null
// fields select everything.
export function selectRows(rows, selection, matches) {
  const first = lowerBound(0, rows.n, selection.from ?? -Infinity, (i) => rows.start[i]);
  const last = lowerBound(first, rows.n, selection.to ?? Infinity, (i) => rows.start[i]);
  const picked = new Uint32Array(last - first);
  let n = 0;
  for (let i = first; i < last; i++) {
    if (matches && !matches[rows.name[i]]) continue;
    if (selection.device !== null && selection.device !== undefined && rows.device[i] !== selection.device) continue;
    if (selection.request !== null && selection.request !== undefined && rows.request[i] !== selection.request)
      continue;
    picked[n++] = i;
  }
  return picked.subarray(0, n);
}

// unionLength returns the length of the union of intervals, ordered by start, each clipped to [from, to).
export function unionLength(starts, ends, from = -Infinity, to = Infinity) {
  let sum = 0,
    covered = from;
  for (let i = 0; i < starts.length; i++) {
    const a = Math.max(starts[i], covered),
      b = Math.min(ends[i], to);
    if (b > a) {
      sum += b - a;
      covered = b;
    }
  }
  return sum;
}

// deviceParts divides the time of a device between the first start and the last end of picked rows into parts that add
// up: compute; communication without compute; memory without either; other kinds without any of these; idle.
export function deviceParts(rows, picked) {
  const events = [];
  let first = Infinity,
    last = -Infinity;
  for (const i of picked) {
    const kind = rows.kind[i];
    if (kind >= KIND_SPAN) continue;
    const c = kind === 1 ? 0 : kind === 2 ? 1 : kind === 3 ? 2 : 3;
    const a = rows.start[i],
      b = a + rows.dur[i];
    first = Math.min(first, a);
    last = Math.max(last, b);
    if (b > a) events.push([a, c, 1], [b, c, -1]);
  }
  const parts = {
    span: Math.max(0, last - first),
    compute: 0,
    communication: 0,
    memory: 0,
    other: 0,
    busy: 0,
    idle: 0,
  };
  if (!(last > first)) return { ...parts, span: 0 };
  events.sort((x, y) => x[0] - y[0]);
  const running = [0, 0, 0, 0],
    names = ["compute", "communication", "memory", "other"];
  let at = first;
  for (const [t, c, d] of events) {
    if (t > at) {
      const which = running.findIndex((n) => n > 0);
      if (which >= 0) parts[names[which]] += t - at;
      at = t;
    }
    running[c] += d;
  }
  parts.busy = parts.compute + parts.communication + parts.memory + parts.other;
  parts.idle = parts.span - parts.busy;
  return parts;
}

// usage divides [from, to) into count parts. busy has the share of the time with a running picked operation in each, the
// mean over devices, and kinds the sums of durations by kind. picked is ordered by start.
export function usage(rows, picked, from, to, count) {
  const width = (to - from) / count,
    busy = new Float64Array(count),
    kinds = KINDS.map(() => null),
    covered = new Map();
  const add = (sums, a, b) => {
    for (let k = Math.max(0, Math.floor((a - from) / width)); k < count && from + k * width < b; k++)
      sums[k] += Math.min(b, from + (k + 1) * width) - Math.max(a, from + k * width);
  };
  for (const i of picked) {
    if (!isOperation(rows, i)) continue;
    const a = rows.start[i],
      b = Math.min(to, a + rows.dur[i]),
      done = covered.get(rows.device[i]) ?? from;
    add((kinds[rows.kind[i]] ??= new Float64Array(count)), a, b);
    if (b > done) add(busy, Math.max(a, done), b);
    covered.set(rows.device[i], Math.max(done, b));
  }
  for (let k = 0; k < count; k++) busy[k] /= width * Math.max(1, covered.size);
  return { busy, kinds };
}

// HISTOGRAM_BINS logarithmic bins, four to a factor of ten from 100 ns.
export const HISTOGRAM_BINS = 40;

// histogramBin returns the bin of a duration.
export function histogramBin(ns) {
  return ns <= 100 ? 0 : Math.min(HISTOGRAM_BINS - 1, Math.floor(4 * (Math.log10(ns) - 2)));
}

// summarise adds up the picked operations by name and returns the sums, the
// largest first.
export function summarise(rows, picked) {
  const groups = []; // by name
  let total = 0;
  for (const i of picked) {
    if (!isOperation(rows, i)) continue;
    let g = groups[rows.name[i]];
    if (g === undefined) {
      g = {
        name: rows.name[i],
        kind: rows.kind[i],
        rows: [],
        count: 0,
        sum: 0,
        self: 0,
        memory: 0,
        flops: 0,
        errors: 0,
        histogram: new Uint32Array(HISTOGRAM_BINS),
      };
      groups[rows.name[i]] = g;
    }
    const d = rows.dur[i];
    g.rows.push(i);
    g.count++;
    g.sum += d;
    g.self += rows.self[i];
    if (rows.memory[i] >= 0) g.memory += rows.memory[i];
    if (rows.flops[i] >= 0) g.flops += rows.flops[i];
    if (rows.error[i] !== NONE) g.errors++;
    g.histogram[histogramBin(d)]++;
    total += d;
  }
  const all = groups.filter(Boolean);
  for (const g of all) {
    g.mean = g.sum / g.count;
    g.share = total > 0 ? g.sum / total : 0;
  }
  return all.sort((a, b) => b.sum - a.sum);
}

// addQuantiles adds the quantiles of the durations to a sum.
export function addQuantiles(rows, g) {
  const sorted = Float64Array.from(g.rows, (i) => rows.dur[i]).sort();
  g.p50 = percentile(sorted, 50);
  g.p95 = percentile(sorted, 95);
  g.p99 = percentile(sorted, 99);
  g.max = sorted.at(-1);
  return g;
}

// percentile returns the value of rank ⌈percent·n/100⌉, as the report does.
export const percentile = (sorted, percent) => sorted[Math.ceil((percent * sorted.length) / 100) - 1];

// ownTimes returns the durations of operations, each without the durations of the operations directly below it, at
// least 0: summed up along the frames above, they are the duration of each.
export function ownTimes(rows) {
  const own = Float64Array.from(rows.dur);
  for (let i = 0; i < rows.n; i++) {
    if (!isOperation(rows, i)) continue;
    let above = rows.parent[i];
    for (let steps = 0; above !== NONE && !isOperation(rows, above) && steps < rows.n; steps++)
      above = rows.parent[above];
    if (above !== NONE) own[above] -= rows.dur[i];
  }
  for (let i = 0; i < rows.n; i++) own[i] = Math.max(0, own[i]);
  return own;
}

// buildStacks sums up picked operations in a tree of frames, by their devices or below their requests. The latter are
// the stacks of analyze.Forest.Stacks: the device is a frame in front of its first operation, and spans and the host's
// view have no values. names names frames: row by a row's name, device by a device's; known reports whether a device is
// known.
export function buildStacks(rows, picked, values, grouping, names) {
  const root = {
    name: "all",
    key: -1,
    kind: KIND_SPAN,
    children: new Map(),
    self: 0,
    total: 0,
    depth: 0,
    device: NONE,
  };
  const child = (node, key, name, kind) => {
    let c = node.children.get(key);
    if (c === undefined) {
      c = { name, key, kind, children: new Map(), self: 0, total: 0, depth: node.depth + 1, device: node.device };
      node.children.set(key, c);
    }
    return c;
  };
  const deviceFrame = (node, device) => {
    if (!names.known(device)) return node;
    const c = child(node, -2 - device, names.device(device), KIND_SPAN);
    c.device = device;
    return c;
  };
  const cache = new Array(rows.n);
  const isFrame = (i) => isOperation(rows, i) || grouping !== "device";
  const nodeOf = (row) => {
    // Walks up to a known node or a root, then down again; a chain of parents
    // may be as long as the run.
    const path = [];
    let at = row,
      node = null;
    const limit = rows.n;
    while (at !== NONE && path.length <= limit) {
      if (cache[at] !== undefined) {
        node = cache[at];
        break;
      }
      path.push(at);
      at = aboveOf(rows, at);
    }
    if (node === null) node = root;
    for (let k = path.length - 1; k >= 0; k--) {
      const i = path[k];
      if (!isFrame(i)) {
        cache[i] = node;
        continue;
      }
      if (grouping === "device") {
        if (node === root) node = child(root, -2 - rows.device[i], names.device(rows.device[i]), KIND_SPAN);
      } else {
        if (rows.maker[i] !== NONE) node = child(node, rows.maker[i], names.row(rows.maker[i]), KIND_HOST);
        if (rows.kind[i] < KIND_SPAN && rows.device[i] !== node.device) node = deviceFrame(node, rows.device[i]);
      }
      node = child(node, rows.name[i], names.row(rows.name[i]), rows.kind[i]);
      cache[i] = node;
    }
    return node;
  };
  for (const i of picked) {
    if (!isOperation(rows, i)) continue;
    const v = values(i);
    if (v > 0) nodeOf(i).self += v;
  }
  // Totals, without recursion: children come after their parents in order.
  const order = [root];
  for (let k = 0; k < order.length; k++) for (const c of order[k].children.values()) order.push(c);
  for (const node of order) node.total = node.self;
  const parents = new Map();
  for (const node of order) for (const c of node.children.values()) parents.set(c, node);
  for (let k = order.length - 1; k > 0; k--) parents.get(order[k]).total += order[k].total;
  return root;
}
