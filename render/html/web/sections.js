// The sections of tables below the timeline and the flame graph.

import { KINDS, KIND_SPAN, NONE, deviceParts, histogramBin, HISTOGRAM_BINS, summarise, utilisation } from "./rows.js";
import { element, shorten, shortenName, show } from "./dom.js";
import { Table } from "./table.js";
import { bar, histogram, stacked, strip } from "./charts.js";
import { bucketsIn, collectivesIn, communicatingOf, hotspotsOf, stepsOf } from "./selected.js";
import { formatBytes, formatCount, formatRate, formatShare, formatTime } from "./units.js";

const time = (title, value, hint) => ({ title, value, text: (r) => formatTime(value(r)), numeric: true, hint });
const count = (title, value, hint) => ({ title, value, text: (r) => formatCount(value(r)), numeric: true, hint });

// rateOf returns the FLOPs per second of a group, null where none are known.
const rateOf = (g) => g.rate ?? (g.flops > 0 && g.sum > 0 ? g.flops / (g.sum / 1e9) : null);

// kindName returns the class of a kind in styles.
const kindName = (kind) => KINDS[kind] ?? "unknown";

// Operations shows a row per operation.
export class Operations {
  constructor(page, parent) {
    this.page = page;
    const { store } = page, known = (page.view.report.operations ?? []).some((o) => o.roofline);
    this.table = new Table(parent, [
      { title: "operation", value: (g) => g.label, class: "name", full: (g) => g.label, render: (g) => element("span", {}, element("i", { class: "dot kind-" + kindName(g.kind) }), shortenName(g.label, 60)) },
      { title: "kind", value: (g) => g.kindLabel },
      count("count", (g) => g.count),
      time("sum", (g) => g.sum),
      { title: "share", value: (g) => g.share, numeric: true, render: (g) => element("span", { class: "withbar" }, bar(g.share, kindName(g.kind)), formatShare(g.share)) },
      time("self", (g) => g.self, "duration less the union of the operations below"),
      time("drag", (g) => g.drag ?? null, "how much shorter the critical paths of the whole run are if the operation takes no time"),
      time("mean", (g) => g.mean),
      time("p50", (g) => g.p50),
      time("p95", (g) => g.p95),
      time("p99", (g) => g.p99),
      time("max", (g) => g.max),
      { title: "durations", value: (g) => g.max, render: (g) => histogram(g.histogram, kindName(g.kind)) },
      { title: "memory", value: (g) => g.memory, text: (g) => formatBytes(g.memory), numeric: true },
      { title: "FLOP/s", value: (g) => rateOf(g), text: (g) => formatRate(rateOf(g), ""), numeric: true, hint: "of the operations whose FLOPs are recorded or follow from their shapes" },
      { title: "FLOP/B", value: (g) => g.perByte ?? null, text: (g) => (g.perByte === undefined || g.perByte === null ? "–" : g.perByte.toFixed(2)), numeric: true, hint: "arithmetic intensity in the whole run: FLOPs by bytes of inputs and outputs" },
      ...(known ? [{ title: "of best", value: (g) => g.roofline?.share ?? null, text: (g) => (g.roofline ? `${formatShare(g.roofline.share)} ${g.roofline.bound}` : "–"), numeric: true, hint: "the least time by the devices' peaks (-peaks) as a part of the time taken in the whole run, and what bounds it" }] : []),
    ], {
      label: "operations", sort: { column: 3, descending: true }, empty: "no operation in the selection",
      key: (g) => g.label, selected: (g) => store.state.op === g.name, detail: (g) => this.detail(g),
      onclick: (g, table) => {
        store.set({ op: store.state.op === g.name ? null : g.name });
        table.toggle(g.label);
      },
    });
  }

  update(picked, isWhole) {
    const { view, rows } = this.page;
    if (this.report !== view.report) {
      this.report = view.report;
      this.drag = new Map((view.report.critical_path_operations ?? []).filter((o) => o.drag_ns !== null).map((o) => [o.operation, o.drag_ns]));
      this.whole = new Map((view.report.operations ?? []).filter((o) => rows.hostOnly || !o.side).map((o) => [o.operation, o]));
    }
    const groups = summarise(rows, picked);
    for (const g of groups) {
      g.label = view.names[g.name];
      g.kindLabel = kindName(g.kind);
      g.drag = isWhole ? this.drag.get(g.label) ?? null : null;
      const o = this.whole.get(g.label);
      if (isWhole && o) Object.assign(g, { perByte: o.flops_per_byte, roofline: o.roofline });
      // The report's figures, where they are for the same operations.
      if (isWhole && o && o.count === g.count) Object.assign(g, { sum: o.sum_ns, mean: o.mean_ns, p50: o.p50_ns, p95: o.p95_ns, p99: o.p99_ns, max: o.max_ns, share: o.share ?? g.share, kindLabel: o.kind, self: o.self_ns ?? g.self, rate: o.flops_per_second || null });
    }
    this.groups = groups;
    this.table.update(groups, `${formatCount(groups.length)} operations`);
  }

  detail(g) {
    const { view, rows, store } = this.page;
    const by = (of, name) => {
      const sums = new Map();
      for (const i of g.rows) {
        const k = of(i), s = sums.get(k) ?? { label: name(k), count: 0, sum: 0, histogram: new Uint32Array(HISTOGRAM_BINS) };
        s.count += rows.count[i];
        s.sum += rows.dur[i];
        s.histogram[histogramBin(rows.dur[i] / rows.count[i])] += rows.count[i];
        sums.set(k, s);
      }
      return [...sums.values()].sort((a, b) => b.sum - a.sum);
    };
    const list = (title, all) => {
      const head = element("h4", {}, title);
      const lines = all.slice(0, 8).map((s) => element("tr", {}, element("td", { class: "name", title: s.label }, shorten(s.label, 44)), element("td", { class: "number" }, formatCount(s.count)),
        element("td", { class: "number" }, formatTime(s.sum)), element("td", { class: "number" }, formatTime(s.sum / s.count)), element("td", {}, histogram(s.histogram, kindName(g.kind)))));
      return element("div", {}, head, element("table", { class: "small" }, element("tbody", {}, ...lines)), all.length > 8 ? element("p", { class: "note" }, `and ${formatCount(all.length - 8)} more`) : null);
    };
    const slowest = [...g.rows].sort((a, b) => rows.most[b] - rows.most[a]).slice(0, 5);
    return element("div", { class: "detail" },
      element("h3", {}, shorten(g.label, 400)),
      element("div", {}, element("h4", {}, "durations"), histogram(g.histogram, kindName(g.kind), true)),
      list("by shape", by((i) => rows.shape[i], (k) => view.shapes[k] || "not known")),
      list("by device", by((i) => rows.device[i], (k) => (k === NONE ? "none" : view.devices[k].label))),
      list("by request", by((i) => rows.request[i], (k) => (k === NONE ? "none" : view.requests[k].name))),
      element("div", {}, element("h4", {}, "slowest"), element("ul", { class: "plain" }, ...slowest.map((i) => element("li", {},
        element("button", { class: "link", type: "button", onclick: (e) => { e.stopPropagation(); this.page.showRow(i); } }, formatTime(rows.most[i]) + " at " + formatTime(rows.start[i])))))),
      element("div", {}, element("button", { type: "button", onclick: (e) => { e.stopPropagation(); store.set({ op: null }); this.table.toggle(g.label); } }, "close")));
  }
}

// Devices shows the parts of each device's time that add up.
export class Devices {
  constructor(page, parent) {
    this.page = page;
    this.table = new Table(parent, [
      { title: "device", value: (d) => d.label, class: "name", full: (d) => d.label, text: (d) => shortenName(d.label, 40) },
      count("count", (d) => d.count),
      time("sum", (d) => d.sum),
      { title: "parts of the time", value: (d) => d.busy, class: "wide", render: (d) => stacked([
        { value: d.compute, kind: "compute", label: "compute" }, { value: d.communication, kind: "collective", label: "communication beside no compute" },
        { value: d.memory, kind: "memory", label: "memory beside neither" }, { value: d.other, kind: "control", label: "other" }], this.scale) },
      time("span", (d) => d.span), time("busy", (d) => d.busy), time("compute", (d) => d.compute), time("exposed comm", (d) => d.communication),
      time("exposed mem", (d) => d.memory), time("idle", (d) => d.idle),
      { title: "idle by cause", hint: "of the whole run: the host launched too late, the operation stood in the queue, or anything else", value: (d) => d.causes?.host.sum_ns ?? null, class: "wide",
        render: (d) => (d.causes ? stacked(["host", "queue", "other"].map((c) => ({ value: d.causes[c].sum_ns, kind: "by-" + c, label: c })), this.scale) : "–") },
      { title: "busy over time", value: (d) => d.busy, class: "wide", render: (d) => strip(d.strip, "compute", "busy over time") },
    ], { label: "devices", empty: "no device in the selection", selected: (d) => page.store.state.device === d.device,
      onclick: (d) => page.store.set({ device: page.store.state.device === d.device ? null : d.device }) });
  }

  update(picked, isWhole, from, to) {
    const { rows, view } = this.page;
    const byDevice = new Map();
    for (const i of picked) {
      if (rows.kind[i] >= KIND_SPAN || rows.device[i] === NONE) continue;
      let list = byDevice.get(rows.device[i]);
      if (!list) byDevice.set(rows.device[i], (list = []));
      list.push(i);
    }
    const all = [...byDevice].sort((a, b) => a[0] - b[0]).map(([device, list]) => {
      const parts = deviceParts(rows, list);
      let sum = 0, count = 0;
      for (const i of list) {
        sum += rows.dur[i];
        count += rows.count[i];
      }
      const d = { device, label: view.devices[device].label, count, sum, strip: Array.from(utilisation(rows, list, from, to, 80)), ...parts };
      d.causes = isWhole ? view.report.idle_causes?.devices[view.devices[device].idle_row] : null;
      const o = isWhole && (view.report.devices ?? [])[view.devices[device].row];
      if (o && o.count === d.count && o.span_ns !== null) Object.assign(d, { sum: o.sum_ns, span: o.span_ns, busy: o.busy_ns, compute: o.compute_ns, communication: o.exposed_communication_ns, memory: o.exposed_memory_ns, other: o.other_ns, idle: o.idle_ns });
      return d;
    });
    this.scale = Math.max(1, ...all.map((d) => d.span));
    this.table.update(all, `${all.length === 1 ? "one device" : formatCount(all.length) + " devices"} on one scale; compute, exposed communication, exposed memory, other and idle add up to the span`);
  }
}

// Requests shows latency and what it consists of.
export class Requests {
  constructor(page, parent) {
    this.page = page;
    this.table = new Table(parent, [
      { title: "request", value: (r) => r.name, class: "name", full: (r) => r.name, text: (r) => shortenName(r.name, 48) },
      { title: "service", value: (r) => r.service ?? "", text: (r) => shorten(r.service ?? "", 30) },
      time("start", (r) => r.start), time("duration", (r) => r.dur), count("ops", (r) => r.ops),
      time("shared", (r) => r.shared_ns ?? null, "its part of the operations that ran for several requests at once"),
      time("without an op", (r) => r.uncovered, "time in which none of its operations ran"),
      { title: "critical path by kind", value: (r) => r.dur, class: "wide", render: (r) => stacked(r.kinds, this.scale) },
    ], { label: "requests", sort: { column: 3, descending: true }, empty: "no request in the selection", key: (r) => r.trace + r.span, selected: (r) => page.store.state.request === r.index,
      detail: (r) => this.detail(r),
      onclick: (r, table) => {
        page.store.set({ request: page.store.state.request === r.index ? null : r.index });
        table.toggle(r.trace + r.span);
      } });
  }

  update(from, to) {
    const { view } = this.page;
    const all = view.requests.filter((r) => r.dur !== null && r.start >= (from ?? -Infinity) && r.start < (to ?? Infinity));
    for (const r of all) {
      if (r.kinds) continue;
      const sums = new Map();
      for (const p of r.path) sums.set(p.kind, (sums.get(p.kind) ?? 0) + p.ns);
      r.kinds = [...sums].sort((a, b) => b[1] - a[1]).map(([kind, value]) => ({ kind, value, label: kind }));
    }
    this.scale = Math.max(1, ...all.map((r) => r.dur));
    this.table.options.empty = view.requests_total === 0 ? "no request was recorded" : "no request in the selection";
    this.table.update(all, `${formatCount(all.length)} of ${formatCount(view.requests_total)} requests` + (view.requests.length < view.requests_total ? `; the page holds the ${formatCount(view.requests.length)} slowest` : ""));
  }

  detail(r) {
    const most = Math.max(1, ...r.path.map((p) => p.ns));
    const lines = r.path.slice(0, 20).map((p) => element("tr", {}, element("td", { class: "name", title: p.operation }, shorten(p.operation, 44)), element("td", {}, shorten(p.device || "", 24)),
      element("td", { class: "number" }, formatTime(p.ns)), element("td", { class: "number" }, formatShare(p.ns / r.dur)), element("td", { class: "wide" }, bar(p.ns / most, p.kind))));
    const link = r.link ? element("a", { href: r.link, rel: "noreferrer" }, "open in Jaeger") : null;
    const causes = (r.causes ?? []).length === 0 ? null : element("div", { class: "causes" }, element("h4", {}, "what it waited for"),
      element("ul", { class: "plain" }, ...r.causes.map((text) => element("li", {}, text))));
    return element("div", { class: "detail one" }, causes,
      element("div", {}, element("h4", {}, "critical path, which adds up to the request"), element("table", { class: "small" }, element("tbody", {}, ...lines)),
        r.path.length > 20 ? element("p", { class: "note" }, `and ${formatCount(r.path.length - 20)} more`) : null,
        element("p", { class: "note" }, "trace " + r.trace + " ", link)),
      this.shared(r),
      element("div", {}, element("button", { type: "button", onclick: (e) => { e.stopPropagation(); this.page.showTime(r.start, r.start + r.dur); } }, "show in the timeline")));
  }

  // shared lists the executions that worked for a request and for others.
  shared(r) {
    if (!r.shared_total) return null;
    const lines = r.shared.map((x) => element("tr", {}, element("td", { class: "name", title: x.name }, x.row < 0 ? shorten(x.name, 40) :
      element("button", { class: "link", type: "button", onclick: (e) => { e.stopPropagation(); this.page.showRow(x.row); } }, shorten(x.name, 40))),
    element("td", { class: "number" }, formatTime(x.start)), element("td", { class: "number" }, formatTime(x.dur)), element("td", { class: "number" }, formatCount(x.requests)),
    element("td", { class: "number" }, formatCount(x.ops)), element("td", { class: "number" }, formatTime(x.ns))));
    const more = r.shared_total - r.shared.length;
    return element("div", {}, element("h4", {}, "executions for several requests"), element("table", { class: "small" },
      element("thead", {}, element("tr", {}, ...["execution", "start", "duration", "requests", "ops", "part"].map((t, i) => element("th", { class: i > 0 ? "number" : null }, t)))),
      element("tbody", {}, ...lines)), more > 0 ? element("p", { class: "note" }, `… and ${formatCount(more)} more`) : null);
  }
}

// keptTable makes a table that is sorted as the one of the same name was before.
export function keptTable(page, parent, columns, options) {
  const table = new Table(parent, columns, { ...options, sort: page.tables.get(options.label)?.sort ?? options.sort });
  page.tables.set(options.label, table);
  return table;
}

// communication fills the section of collective operations: with the report's figures where
// the selection is the whole run, and otherwise with those of the operations in it.
export function communication(page, parent, { picked, isWhole, from, to }) {
  const { view } = page, c = view.report.communication;
  const rows = isWhole ? c?.collectives ?? [] : collectivesIn(page.rows, view.names, page.timeline.overlays.collectives, from, to);
  const bottlenecks = isWhole ? c?.bottlenecks ?? [] : communicatingOf(page.rows, view.names, picked);
  if (rows.length === 0) {
    const found = bottlenecks.length;
    show(parent, element("p", { class: "note" }, found > 0 ? "Operations that communicate, but no collective seen on several devices." : isWhole ? "No communication was recognised." : "No communication in the selection."));
    if (found === 0) return;
  }
  const parts = [];
  if (rows.length > 0) {
    const box = element("div", {});
    keptTable(page, box, [
      { title: "collective", value: (r) => r.name, class: "name", full: (r) => r.name, text: (r) => shortenName(r.name, 40) }, { title: "group", value: (r) => r.group ?? "", text: (r) => shorten(r.group ?? "", 30) },
      count("count", (r) => r.count), time("transfer", (r) => r.transfer_ns, "the shortest duration among the devices"), time("wait", (r) => r.wait_ns, "what all devices took beyond the transfer"),
      time("max skew", (r) => r.max_start_skew_ns), { title: "algorithm", value: (r) => r.algorithm_bytes_per_second, text: (r) => formatRate(r.algorithm_bytes_per_second, "B/s"), numeric: true },
      { title: "bus", value: (r) => r.bus_bytes_per_second, text: (r) => formatRate(r.bus_bytes_per_second, "B/s"), numeric: true },
      { title: "straggler", value: (r) => stragglerOf(r) },
    ], { label: "collectives" }).update(rows, "transfer: the shortest duration among the devices; wait: what all devices took beyond it; the straggler is the device that waits least");
    parts.push(box);
  }
  const box = element("div", {});
  keptTable(page, box, [
    { title: "operation", value: (r) => r.operation, class: "name", full: (r) => r.operation, text: (r) => shortenName(r.operation, 60) }, count("calls", (r) => r.call_count),
    time("sum", (r) => r.total_duration_us * 1000), { title: "of all", value: (r) => r.ratio_of_total, render: (r) => element("span", { class: "withbar" }, bar(r.ratio_of_total, "collective"), formatShare(r.ratio_of_total)), numeric: true },
  ], { label: "communication" }).update(bottlenecks, !isWhole || !c ? "" : `recognised by attribute ${formatCount(c.rules.attribute)}, by library name ${formatCount(c.rules.library)}, by a word in the name ${formatCount(c.rules.name)}`);
  show(parent, ...parts, box);
}

function stragglerOf(r) {
  const s = (r.stragglers ?? [])[0];
  return s ? `${s.rank !== null && s.rank !== undefined ? s.rank + "/" : ""}${deviceName(s)}` : "";
}

// deviceName is a device with the service that tells it from others of its name.
function deviceName(d) {
  return (d.service ? d.service + " " : "") + (d.device_id ?? "");
}

// memory fills the section of memory, as communication does its own.
export function memory(page, parent, { picked, isWhole, from, to }) {
  const { view } = page, m = view.report.memory;
  const parts = [];
  const over = m?.over_time;
  if (over && (over.devices ?? []).length > 0) {
    const [first, last] = bucketsIn(over, over.start_unix_ns - Number(view.origin_ns), from, to);
    const written = over.devices.map((d) => d.written_bytes.slice(first, last)), most = Math.max(0, ...written.flat());
    parts.push(element("div", { class: "scroll" }, element("table", { class: "small" }, element("tbody", {}, ...over.devices.map((d, k) => element("tr", {}, element("td", { class: "name" }, shorten(deviceName(d), 30)),
      element("td", { class: "wide" }, strip(written[k].map((v) => v / Math.max(1, most)), "memory", "bytes written over time"))))))),
    element("p", { class: "note" }, most > 0 ? `bytes written per ${formatTime(over.bucket_ns)}, the highest column is ${formatBytes(most)}` : "no operation states memory"));
  }
  const limit = (m?.hotspots ?? []).length;
  const { found, total } = isWhole || !m ? { found: m?.hotspots ?? [], total: m?.hotspot_count } : hotspotsOf(page.rows, view, picked, m.threshold_bytes, Math.max(10, limit));
  const shapes = (r) => r.shapes ?? (r.output_shape ? JSON.stringify(r.output_shape) : null);
  const box = element("div", {});
  keptTable(page, box, [
    { title: "operation", value: (r) => r.operation, class: "name", full: (r) => r.operation, text: (r) => shortenName(r.operation, 60) }, { title: "device", value: (r) => r.device_id ?? "", text: (r) => shorten(r.device_id ?? "", 30) },
    { title: "memory", value: (r) => r.memory_bytes, text: (r) => formatBytes(r.memory_bytes), numeric: true }, time("duration", (r) => r.duration_ns ?? r.duration_us * 1000),
    { title: isWhole ? "output shape" : "shapes", value: shapes, text: (r) => shapes(r) ?? "–" },
  ], { label: "memory hotspots", empty: "no operation above the threshold" }).update(found, m ? `the first ${formatCount(found.length)} of ${formatCount(total)} operations above ${formatBytes(m.threshold_bytes)}` : "");
  show(parent, ...parts, box);
}

// steps fills the section of training steps: those that operations in the selection belong to,
// whole.
export function steps(page, parent, { picked, isWhole }) {
  const recorded = page.view.report.steps ?? [], within = isWhole ? null : stepsOf(page.rows, page.view, picked);
  const all = isWhole ? recorded : recorded.filter((s) => within.has(s.step));
  const box = element("div", {});
  const most = Math.max(1, ...all.map((s) => s.wall_ns ?? 0));
  const walls = all.map((s) => s.wall_ns).filter((v) => v !== null).sort((a, b) => a - b), median = walls[Math.floor(walls.length / 2)] ?? 0;
  const several = all.some((s) => (s.service ?? "") !== (all[0].service ?? "")), again = all.some((s) => s.run > 1);
  keptTable(page, box, [
    ...(several ? [{ title: "service", value: (s) => s.service ?? "", class: "name", text: (s) => shortenName(s.service ?? "", 30) }] : []),
    count("step", (s) => s.step), ...(again ? [count("run", (s) => s.run)] : []), count("operations", (s) => s.count), time("sum", (s) => s.sum_ns), time("wall", (s) => s.wall_ns), time("busy", (s) => s.busy_ns),
    { title: "wall and busy", value: (s) => s.wall_ns, class: "wide", render: (s) => stacked([{ value: s.busy_ns ?? 0, kind: "compute", label: "busy" }, { value: Math.max(0, (s.wall_ns ?? 0) - (s.busy_ns ?? 0)), kind: "span", label: "idle" }], most) },
    { title: "", value: (s) => (s.wall_ns > 1.5 * median ? 1 : 0), text: (s) => (median > 0 && s.wall_ns > 1.5 * median ? `${(s.wall_ns / median).toFixed(1)} × the median` : "") },
  ], { label: "steps", empty: recorded.length > 0 ? "no step in the selection" : "no steps were recorded" }).update(all, all.length > 0 ? `${formatCount(all.length)} steps, median ${formatTime(median)}` : "");
  show(parent, box);
}
