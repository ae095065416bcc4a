// The time of operations between launch on the host and start on a device, for a range. Package analyze computes the
// figures of a whole run.

import { KIND_SPAN, NONE, lowerBound } from "./rows.js";
import { element, shorten, shortenName, show } from "./dom.js";
import { Table } from "./table.js";
import { stacked, strip } from "./charts.js";
import { formatCount, formatShare, formatTime } from "./units.js";

// CAUSES are the causes of idle time of a stream, named as in the report.
const CAUSES = ["host", "dependency", "queue", "other"];
const HINTS = [
  "the next operation was launched after the gap had begun",
  "it had been launched, and another stream ended something right before it started",
  "it had been launched, and the gap is short",
  "the rest",
];

// How many operations the search for a dependency looks at, and into how many parts a
// range is divided for the depth over time.
const MOST_DEPENDENCIES = 256,
  DEPTH_BUCKETS = 80;

// How many operations of a stream are listed.
const LISTED = 5;

// launchStreams returns the streams of devices with known launches. Each has its rows by start, and for each row the
// latest end of the rows before it (-Infinity for the first), the number of the cause of the gap in between, and
// whether another operation delayed it after its launch. Gaps up to threshold count as queueing.
export function launchStreams(rows, threshold) {
  const devices = new Map();
  for (let i = 0; i < rows.n; i++) {
    if (rows.kind[i] >= KIND_SPAN || rows.device[i] === NONE) continue;
    let d = devices.get(rows.device[i]);
    if (!d) devices.set(rows.device[i], (d = { device: rows.device[i], rows: [], launched: false }));
    d.rows.push(i);
    d.launched ||= !Number.isNaN(rows.launch[i]);
  }
  return [...devices.values()]
    .filter((d) => d.launched)
    .sort((a, b) => a.device - b.device)
    .flatMap((d) => streamsOf(rows, d, threshold));
}

function streamsOf(rows, { device, rows: list }, threshold) {
  const ends = Uint32Array.from(list).sort((a, b) => compareEnd(rows, a, b)),
    streams = new Map();
  list.sort((a, b) => rows.start[a] - rows.start[b] || rows.dur[a] - rows.dur[b] || a - b);
  for (const i of list) {
    let s = streams.get(rows.stream[i]);
    if (!s)
      streams.set(rows.stream[i], (s = { device, stream: rows.stream[i], rows: [], latest: [], cause: [], held: [] }));
    const latest = s.rows.length === 0 ? -Infinity : Math.max(s.latest.at(-1), endOf(rows, s.rows.at(-1)));
    s.cause.push(s.rows.length > 0 && latest < rows.start[i] ? gapCause(rows, ends, i, latest, threshold) : -1);
    s.held.push(latest > rows.launch[i] || hasDependency(rows, ends, i, rows.launch[i], threshold));
    s.rows.push(i);
    s.latest.push(latest);
  }
  const order = (s) => (s.stream === NONE ? -1 : s.stream);
  return [...streams.values()].sort((a, b) => order(a) - order(b));
}

const endOf = (rows, i) => rows.start[i] + rows.dur[i];

const compareEnd = (rows, a, b) => endOf(rows, a) - endOf(rows, b) || rows.start[a] - rows.start[b] || a - b;

// gapCause returns the number of the cause of the idle time before row i.
function gapCause(rows, ends, i, from, threshold) {
  if (Number.isNaN(rows.launch[i])) return 3;
  if (rows.launched[i] > from) return 0;
  if (hasDependency(rows, ends, i, from, threshold)) return 1;
  return rows.start[i] - from < threshold ? 2 : 3;
}

// hasDependency reports whether an operation on another stream ended after a time and less
// than threshold before row i started.
function hasDependency(rows, ends, i, after, threshold) {
  const start = rows.start[i];
  let k = lowerBound(0, ends.length, start + 1, (m) => endOf(rows, ends[m])) - 1;
  for (let n = 0; k >= 0 && n < MOST_DEPENDENCIES; k--, n++) {
    const end = endOf(rows, ends[k]);
    if (end <= after || start - end >= threshold) return false;
    if (rows.stream[ends[k]] !== rows.stream[i] && compareEnd(rows, ends[k], i) < 0) return true;
  }
  return false;
}

// launchFigures returns the figures of the operations of a stream with a start in [from, to), and the number of waiting
// ones in each of count parts of the time from first to last.
export function launchFigures(rows, s, from, to, { first, last, count }) {
  const figures = {
    device: s.device,
    stream: s.stream,
    count: 0,
    early: 0,
    free: 0,
    overhead: 0,
    median: null,
    most: 0,
    waiting: 0,
    deepest: 0,
    idle: [0, 0, 0, 0],
    picked: [],
  };
  const free = [],
    a = lowerBound(0, s.rows.length, from, (k) => rows.start[s.rows[k]]),
    b = lowerBound(a, s.rows.length, to, (k) => rows.start[s.rows[k]]);
  for (let k = a; k < b; k++) {
    const i = s.rows[k],
      wait = Math.max(0, rows.start[i] - rows.launched[i]),
      early = rows.launch[i] > rows.start[i];
    figures.picked.push(k);
    if (s.cause[k] >= 0) figures.idle[s.cause[k]] += rows.start[i] - s.latest[k];
    if (Number.isNaN(wait)) continue;
    figures.count++;
    if (early) figures.early++;
    figures.waiting += wait;
    if (early || s.held[k]) continue;
    free.push(wait);
    figures.overhead += wait;
  }
  free.sort((x, y) => x - y);
  figures.free = free.length;
  figures.median = free[Math.ceil(free.length / 2) - 1] ?? null;
  figures.most = free.at(-1) ?? 0;
  return Object.assign(
    figures,
    waitingOver(rows, s.rows.slice(a), Math.max(from, first), Math.min(to, last), { from, to, count }),
  );
}

// waitingOver counts waiting operations, from launch to start: the maximum within [from, to), and the number in each of
// count parts of [first, last).
function waitingOver(rows, list, first, last, { from, to, count }) {
  const waiting = list.filter((i) => rows.launch[i] < rows.start[i] && rows.launch[i] < to),
    launches = waiting.map((i) => rows.launch[i]).sort((a, b) => a - b);
  const depths = new Float64Array(count),
    width = Math.max(1, Math.ceil((last - first) / count));
  let deepest = 0,
    depth = 0,
    at = first,
    next = 0;
  const until = (t) => {
    if (t > from) deepest = Math.max(deepest, depth);
    const a = Math.max(at, first),
      b = Math.min(t, last);
    for (let k = Math.floor((a - first) / width); k < count && first + k * width < b && a < b; k++)
      depths[k] = Math.max(depths[k], depth);
    at = t;
  };
  for (const i of waiting) {
    for (; next < launches.length && launches[next] < rows.start[i]; next++) {
      until(launches[next]);
      depth++;
    }
    until(rows.start[i]);
    depth--;
  }
  return { deepest, depths: Array.from(depths) };
}

// Launches shows the streams of the devices behind the host.
export class Launches {
  constructor(page, parent) {
    this.page = page;
    this.path = element("div", {});
    const box = element("div", {});
    show(parent, box, this.path);
    const key = (s) => s.device + ":" + s.stream,
      time = (title, value, hint) => ({ title, value, text: (s) => formatTime(value(s)), numeric: true, hint });
    this.table = new Table(
      box,
      [
        {
          title: "stream of",
          value: (s) => s.label,
          class: "name",
          full: (s) => s.label,
          text: (s) => shortenName(s.label, 40),
        },
        {
          title: "stream",
          value: (s) => (s.stream === NONE ? null : s.stream),
          text: (s) => (s.stream === NONE ? "" : String(s.stream)),
          numeric: true,
        },
        { title: "launches", value: (s) => s.count, text: (s) => formatCount(s.count), numeric: true },
        time(
          "overhead",
          (s) => s.overhead,
          "from the end of the launching call to the start, where nothing else held the operation back",
        ),
        time("median", (s) => s.median, "of the overhead"),
        time("max", (s) => (s.free > 0 ? s.most : null), "of the overhead"),
        time("waiting", (s) => s.waiting, "from the end of the launching call to the start, of all"),
        {
          title: "deepest",
          value: (s) => s.deepest,
          text: (s) => formatCount(s.deepest),
          numeric: true,
          hint: "the most that waited at once",
        },
        {
          title: "waiting over time",
          value: (s) => s.deepest,
          class: "wide",
          render: (s) =>
            strip(
              s.depths.map((v) => v / this.deepest),
              "queue",
              `waiting over time, at most ${formatCount(s.deepest)}`,
            ),
        },
        {
          title: "idle by cause",
          value: (s) => s.idle[0],
          class: "wide",
          render: (s) =>
            stacked(
              CAUSES.map((c, k) => ({ value: s.idle[k], kind: "by-" + c, label: c })),
              this.longest,
            ),
        },
        ...CAUSES.map((c, k) => time(c, (s) => s.idle[k], "idle: " + HINTS[k])),
      ],
      {
        label: "launches",
        empty: "no launch on a device is known",
        key,
        selected: (s) => page.store.state.device === s.device,
        detail: (s) => this.detail(s),
        onclick: (s, table) => table.toggle(key(s)),
      },
    );
  }

  update() {
    const { view, store } = this.page,
      { from, to, device } = store.state,
      reported = view.report.launches;
    if (this.report !== view.report) {
      this.report = view.report;
      this.streams = reported ? launchStreams(this.page.rows, view.report.idle_causes.threshold_ns) : [];
      this.showPath(reported);
    }
    const whole = from === null && to === null;
    const all = (whole ? this.whole() : this.between(from ?? -Infinity, to ?? Infinity)).filter(
      (s) => device === null || s.device === device,
    );
    for (const s of all) s.label = view.devices[s.device].label;
    this.deepest = Math.max(1, ...all.map((s) => s.deepest));
    this.longest = Math.max(1, ...all.map((s) => s.idle.reduce((a, b) => a + b)));
    const early = whole ? (reported?.early ?? 0) : all.reduce((n, s) => n + s.early, 0);
    this.table.update(
      all,
      `overhead and waiting: from the launch to the start, where nothing else held the operation back, and of all; the highest column is ${formatCount(this.deepest)} that wait` +
        (early > 0 ? `; ${formatCount(early)} started before their launch: the clocks of host and device differ` : ""),
    );
  }

  // whole returns the figures of the report.
  whole() {
    const { view } = this.page;
    return (view.report.launches?.streams ?? []).map((s, i) => ({
      device: view.launch_devices[i],
      stream: s.stream === null || s.stream < 0 ? NONE : s.stream,
      count: s.count,
      free: s.overhead.count,
      overhead: s.overhead.sum_ns,
      median: s.overhead.median_ns,
      most: s.overhead.max_ns,
      waiting: s.waiting_ns,
      deepest: s.max_depth,
      depths: s.depth,
      idle: CAUSES.map((c) => s.idle[c].sum_ns),
    }));
  }

  // between returns the figures of the operations with a start in [from, to).
  between(from, to) {
    const { rows, view } = this.page,
      time = { first: 0, last: view.span_ns, count: DEPTH_BUCKETS };
    return this.streams.map((s) => launchFigures(rows, s, from, to, time)).filter((s) => s.picked.length > 0);
  }

  // detail lists the operations of a stream with the longest waits, and those after the longest gaps.
  detail(of) {
    const { rows, view, store } = this.page,
      { from, to } = store.state;
    const s = this.streams.find((s) => s.device === of.device && s.stream === of.stream);
    if (!s) return null;
    const { picked } = launchFigures(rows, s, from ?? -Infinity, to ?? Infinity, { first: 0, last: 1, count: 1 });
    const list = (title, value, say) => {
      const longest = picked
        .filter((k) => value(k) > 0)
        .sort((a, b) => value(b) - value(a))
        .slice(0, LISTED);
      return element(
        "div",
        {},
        element("h3", { class: "small" }, title),
        longest.length === 0
          ? element("p", { class: "note" }, "none")
          : element(
              "ul",
              { class: "plain" },
              ...longest.map((k) =>
                element(
                  "li",
                  {},
                  element(
                    "button",
                    {
                      class: "link",
                      type: "button",
                      onclick: (e) => {
                        e.stopPropagation();
                        this.page.showRow(s.rows[k]);
                      },
                    },
                    formatTime(value(k)) + " " + say(k) + shorten(view.names[rows.name[s.rows[k]]], 40),
                  ),
                ),
              ),
            ),
      );
    };
    const { device } = of;
    return element(
      "div",
      { class: "detail" },
      list(
        "longest from launch to start",
        (k) => rows.start[s.rows[k]] - rows.launch[s.rows[k]],
        () => "",
      ),
      list(
        "longest gaps",
        (k) => (s.cause[k] < 0 ? 0 : rows.start[s.rows[k]] - s.latest[k]),
        (k) => CAUSES[s.cause[k]] + ", before ",
      ),
      element(
        "div",
        {},
        element(
          "button",
          {
            type: "button",
            onclick: (e) => {
              e.stopPropagation();
              store.set({ device: store.state.device === device ? null : device });
            },
          },
          "only this device",
        ),
      ),
    );
  }

  // showPath shows the parts of the path from the first launch to the last end.
  showPath(launches) {
    const p = launches?.path;
    if (!p || p.duration_ns <= 0) {
      show(this.path);
      return;
    }
    const b = p.bound_by,
      parts = [
        ["compute", b.compute_ns, "compute"],
        ["communication", b.communication_ns, "collective"],
        ["memory", b.memory_ns, "memory"],
        ["other", b.other_ns, "other"],
        ["host", b.host_ns, "by-host"],
        ["launches", p.launch_ns, "by-launch"],
        ["queues", p.queue_ns, "by-queue"],
        ["idle", b.idle_ns, "idle"],
      ]
        .filter(([, value]) => value > 0)
        .map(([label, value, kind]) => ({ label, value, kind }));
    show(
      this.path,
      element(
        "h3",
        { class: "small" },
        `critical path across host and devices, ${formatTime(p.duration_ns)} of the whole run`,
      ),
      stacked(parts, p.duration_ns),
      element(
        "p",
        { class: "legend" },
        ...parts.map((x) =>
          element(
            "span",
            {},
            element("i", { class: "dot kind-" + x.kind }),
            `${x.label} ${formatShare(x.value / p.duration_ns)}`,
          ),
        ),
      ),
      launches.enqueue_ns > 0
        ? element(
            "p",
            { class: "note" },
            `the host took ${formatTime(launches.enqueue_ns)} of the whole run for operations that launch others`,
          )
        : null,
    );
  }
}
