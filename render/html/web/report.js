// Sections that show tables of the report as they are: operators, idle time, load balance, the critical path and the
// slowest operations. They are of the whole run.

import { element, shortenName, show } from "./dom.js";
import { bar, stacked } from "./charts.js";
import { count, deviceName, keptTable, named, time } from "./columns.js";
import { formatBytes, formatCount, formatShare, formatTime } from "./units.js";

const share = (title, value, kind = () => "accent") => ({
  title,
  value,
  numeric: true,
  render: (r) => element("span", { class: "withbar" }, bar(value(r), kind(r)), formatShare(value(r))),
});
const begins = (page) => ({
  title: "at",
  value: (r) => page.timeOf(r.start_unix_ns),
  render: (r) => page.timeButton(page.timeOf(r.start_unix_ns), r.duration_ns, r.operation),
  numeric: true,
});

// namer returns the function that names a device as the other sections do: by its rank only beside other ranks.
const namer = (report) => {
  const several = new Set((report.devices ?? []).map((d) => d.rank)).size > 1;
  return (d) => (several && d.rank !== null && d.rank !== undefined ? d.rank + "/" : "") + deviceName(d);
};

// IDLE has the parts of idle time by cause, and what they mean.
const IDLE = [
  ["host", "the host launched the next operation too late"],
  ["queue", "the operation had been launched and stood in the queue"],
  ["other", "anything else"],
  ["no_request", "no request was under way"],
];

// TABLES has for each section the rows in the report, the columns and a note.
const TABLES = {
  operators: {
    rows: (r) => r.operators?.rows,
    columns: () => [
      named("operator", (o) => o.operator),
      count("calls", (o) => o.calls),
      time("device self", (o) => o.device_self_ns, "the operations on devices that it launched"),
      time("device total", (o) => o.device_total_ns, "with those of the operators below it"),
      time("host self", (o) => o.host_self_ns),
      time("host total", (o) => o.host_total_ns),
      time("device idle", (o) => o.device_idle_ns, "while the host was in this operator"),
      count("kernels", (o) => o.kernels),
      { title: "memory", value: (o) => o.memory_bytes, text: (o) => formatBytes(o.memory_bytes), numeric: true },
    ],
    sort: { column: 2, descending: true },
    note: (r, all) => `${formatCount(all.length)} operators of the host, the whole run`,
  },
  idle: {
    rows: (r) => r.idle,
    columns: (page, r) => [
      named("device", namer(r)),
      time("idle", (g) => g.duration_ns),
      begins(page),
      { title: "cause", value: (g) => (g.cause ?? "").replace("_", " ") },
      named("after", (g) => g.after ?? ""),
      named("before", (g) => g.before ?? ""),
    ],
    note: (r, all) => `the longest ${formatCount(all.length)} gaps of the whole run`,
    above: (page, r) => idleBars(r.idle_causes, namer(r)),
  },
  balance: {
    rows: (r) => r.load_balance?.per_device_duration_us,
    columns: (page, r) => [
      named("device", ([device]) => device),
      time("sum", ([, us]) => us * 1000),
      share("of the largest", ([, us]) => us / Math.max(1e-9, r.load_balance.max_duration_us)),
    ],
    note: (r) => {
      const b = r.load_balance;
      return `even would be ${formatTime(b.ideal_duration_us * 1000)}; the largest sum is ${formatShare(b.imbalance_ratio)} above it`;
    },
  },
  critical_path: {
    rows: (r) => r.critical_path,
    columns: (page, r) => [
      named("operation", (p) => p.operation || "(idle)"),
      { title: "kind", value: (p) => p.kind },
      { title: "device", value: namer(r) },
      time("time", (p) => p.ns),
      share(
        "share",
        (p) => p.share,
        (p) => p.kind,
      ),
      time("drag", (p) => p.drag_ns, "how much shorter the paths are if the operation takes no time"),
    ],
    note: (r) =>
      `${formatTime(r.critical_path_totals.duration_ns)}, the paths of ${formatCount(r.critical_path_totals.paths)} traces`,
  },
  slowest: {
    rows: (r) => r.slowest,
    columns: (page, r) => [
      named("operation", (o) => o.operation),
      { title: "device", value: (o) => namer(r)({ ...o, service: "" }) },
      time("duration", (o) => o.duration_ns ?? o.duration_us * 1000),
      begins(page),
      { title: "launched by", value: (o) => o.launched_by ?? "", text: (o) => shortenName(o.launched_by ?? "", 40) },
    ],
    note: () => "of the whole run",
  },
};

// idleBars returns the idle time of each device by cause.
function idleBars(causes, label) {
  const devices = causes?.devices ?? [],
    sum = (d) => IDLE.reduce((n, [c]) => n + d[c].sum_ns, 0),
    most = Math.max(1, ...devices.map(sum));
  const table = element(
    "table",
    { class: "small" },
    element(
      "tbody",
      {},
      ...devices.slice(0, 64).map((d) =>
        element(
          "tr",
          {},
          element("td", { class: "name" }, label(d)),
          element(
            "td",
            { class: "wide" },
            stacked(
              IDLE.map(([c, label]) => ({ value: d[c].sum_ns, kind: "by-" + c, label })),
              most,
            ),
          ),
          element(
            "td",
            {},
            IDLE.filter(([c]) => d[c].sum_ns > 0)
              .map(([c]) => `${c.replace("_", " ")} ${formatTime(d[c].sum_ns)}`)
              .join(", "),
          ),
        ),
      ),
    ),
  );
  return element(
    "div",
    { "class": "scroll", "tabindex": "0", "role": "region", "aria-label": "idle time by cause" },
    table,
  );
}

// reportTables fills the sections.
export function reportTables(page) {
  const { report } = page.view;
  for (const [id, t] of Object.entries(TABLES)) {
    const all = t.rows(report) ?? [],
      parent = document.getElementById(id),
      box = element("div", {});
    if (all.length === 0) {
      show(parent);
      continue;
    }
    keptTable(page, box, t.columns(page, report), { label: id.replace("_", " "), sort: t.sort }).update(
      all,
      t.note(report, all),
    );
    show(parent, t.above?.(page, report), box);
  }
}

// presence returns for each section whether the whole run has anything for it. Others are hidden.
export function presence(view, rows) {
  const r = view.report,
    any = (list) => (list ?? []).length > 0,
    operations = any(r.operations);
  return {
    timeline: rows.n > 0,
    flame: operations && rows.n > 0,
    operations,
    devices: any(r.devices) && view.devices.length > 0,
    launches: any(r.launches?.streams),
    errors: any(r.errors) || any(r.span_errors),
    requests: view.requests_total > 0,
    engines: any(r.engines),
    communication: any(r.communication?.collectives) || any(r.communication?.bottlenecks),
    memory:
      any(r.memory?.hotspots) || (r.memory?.over_time?.devices ?? []).some((d) => d.written_bytes.some((b) => b > 0)),
    sequences: any(r.sequences?.rows),
    steps: any(r.steps),
    phases: any(r.phases),
    ...Object.fromEntries(Object.entries(TABLES).map(([id, t]) => [id, any(t.rows(r))])),
  };
}
