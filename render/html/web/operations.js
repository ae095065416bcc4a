// The section of operations.

import { KINDS, NONE, addQuantiles, histogramBin, HISTOGRAM_BINS, summarise } from "./rows.js";
import { element, push, pushLink, shorten, shortenName } from "./dom.js";
import { Table } from "./table.js";
import { bar, histogram } from "./charts.js";
import { formatBytes, formatCount, formatRate, formatShare, formatTime } from "./units.js";
import { time, count } from "./columns.js";

// rateOf returns the FLOPs per second of a group, or null.
const rateOf = (g) => g.rate ?? (g.flops > 0 && g.sum > 0 ? g.flops / (g.sum / 1e9) : null);

// kindName returns the class of a kind in styles.
const kindName = (kind) => KINDS[kind] ?? "unknown";

// Operations shows a row per operation.
export class Operations {
  constructor(page, parent) {
    this.page = page;
    const { store } = page,
      all = page.view.report.operations ?? [],
      known = all.some((o) => o.roofline),
      isLive = "build" in document.documentElement.dataset, // the data may come to have it
      has = (isThere, ...columns) => (isThere || isLive ? columns : []),
      failed = (page.view.report.errors ?? []).length > 0;
    this.table = new Table(
      parent,
      [
        {
          title: "operation",
          value: (g) => g.label,
          class: "name",
          full: (g) => g.label,
          render: (g) =>
            element(
              "span",
              {},
              element("i", { class: "dot kind-" + kindName(g.kind), title: g.kindLabel }),
              shortenName(g.label, 60),
            ),
        },
        count("count", (g) => g.count),
        time("sum", (g) => g.sum, "the durations of all executions, added up"),
        {
          title: "share",
          hint: "its part of the sum of all operations",
          value: (g) => g.share,
          numeric: true,
          render: (g) => element("span", { class: "withbar" }, bar(g.share, kindName(g.kind)), formatShare(g.share)),
        },
        time("self", (g) => g.self, "duration less the union of the operations below"),
        ...has(
          (page.view.report.critical_path_operations ?? []).some((o) => o.drag_ns > 0),
          time(
            "drag",
            (g) => g.drag ?? null,
            "how much shorter the critical paths of the whole run are if the operation takes no time",
          ),
        ),
        time("mean", (g) => g.mean, "the sum by the count"),
        time("p50", (g) => g.p50, "half of the executions took at most this long"),
        time("p95", (g) => g.p95, "95 of 100 executions took at most this long"),
        time("p99", (g) => g.p99, "99 of 100 executions took at most this long"),
        time("max", (g) => g.max, "the longest execution"),
        { title: "durations", value: (g) => g.max, render: (g) => histogram(g.histogram, kindName(g.kind)) },
        ...has(
          all.some((o) => o.memory_bytes > 0),
          {
            title: "memory",
            value: (g) => g.memory,
            text: (g) => (g.memory > 0 ? formatBytes(g.memory) : ""),
            numeric: true,
          },
        ),
        ...has(
          all.some((o) => o.flops_per_second > 0),
          {
            title: "FLOP/s",
            value: (g) => rateOf(g),
            text: (g) => formatRate(rateOf(g), ""),
            numeric: true,
            hint: "of the operations whose FLOPs are recorded or follow from their shapes",
          },
        ),
        ...has(
          all.some((o) => o.flops_per_byte > 0),
          {
            title: "FLOP/B",
            value: (g) => g.perByte ?? null,
            text: (g) => (g.perByte === undefined || g.perByte === null ? "–" : g.perByte.toFixed(2)),
            numeric: true,
            hint: "arithmetic intensity in the whole run: FLOPs by bytes of inputs and outputs",
          },
        ),
        ...(known
          ? [
              {
                title: "of best",
                value: (g) => g.roofline?.share ?? null,
                text: (g) => (g.roofline ? `${formatShare(g.roofline.share)} ${g.roofline.bound}` : "–"),
                numeric: true,
                hint: "the least time by the devices' peaks (-peaks) as a part of the time taken in the whole run, and what bounds it",
              },
            ]
          : []),
        ...(failed
          ? [
              {
                title: "errors",
                value: (g) => g.errors,
                text: (g) => (g.errors > 0 ? formatCount(g.errors) : ""),
                numeric: true,
              },
            ]
          : []),
      ],
      {
        label: "operations",
        sort: { column: 2, descending: true },
        empty: "no operation in the selection",
        key: (g) => g.label,
        selected: (g) => store.state.op === g.name,
        detail: (g) => this.detail(g),
        onclick: (g, table) => {
          if (g.name !== NONE) store.set({ op: store.state.op === g.name ? null : g.name });
          table.toggle(g.label);
        },
      },
    );
  }

  update(picked, isWhole) {
    const { view, rows } = this.page;
    if (this.report !== view.report) {
      this.report = view.report;
      this.drag = new Map(
        (view.report.critical_path_operations ?? [])
          .filter((o) => o.drag_ns !== null)
          .map((o) => [o.operation, o.drag_ns]),
      );
      this.whole = new Map(
        (view.report.operations ?? []).filter((o) => rows.hostOnly || !o.side).map((o) => [o.operation, o]),
      );
    }
    const groups = summarise(rows, picked);
    for (const g of groups) g.label = view.names[g.name];
    if (isWhole) groups.push(...this.undrawn(groups));
    for (const g of groups) {
      g.kindLabel = kindName(g.kind);
      g.drag = isWhole ? (this.drag.get(g.label) ?? null) : null;
      const o = this.whole.get(g.label);
      if (isWhole && o) Object.assign(g, { perByte: o.flops_per_byte, roofline: o.roofline });
      // The report's figures, if they are for the same operations.
      if (isWhole && o && o.count === g.count)
        Object.assign(g, {
          sum: o.sum_ns,
          mean: o.mean_ns,
          p50: o.p50_ns,
          p95: o.p95_ns,
          p99: o.p99_ns,
          max: o.max_ns,
          share: o.share ?? g.share,
          kindLabel: o.kind,
          self: o.self_ns ?? g.self,
          rate: o.flops_per_second || null,
        });
      else if (g.rows.length > 0) addQuantiles(rows, g);
    }
    this.groups = groups;
    this.table.update(groups, groups.length === 1 ? "one operation" : `${formatCount(groups.length)} operations`);
  }

  // undrawn returns the operations of the report without any start: they have no row.
  undrawn(groups) {
    const drawn = new Set(groups.map((g) => g.label)),
      histogram = new Uint32Array(HISTOGRAM_BINS);
    return [...this.whole.values()]
      .filter((o) => !drawn.has(o.operation))
      .map((o) => {
        const [kind, memory] = [Math.max(0, KINDS.indexOf(o.kind)), o.memory_bytes ?? 0];
        return {
          label: o.operation,
          name: NONE,
          kind,
          rows: [],
          count: o.count,
          self: null,
          memory,
          flops: 0,
          errors: o.errors,
          share: 0,
          histogram,
        };
      });
  }

  detail(g) {
    const { view, rows, store } = this.page;
    const by = (of, name) => {
      const sums = new Map();
      for (const i of g.rows) {
        const k = of(i),
          s = sums.get(k) ?? { label: name(k), count: 0, sum: 0, histogram: new Uint32Array(HISTOGRAM_BINS) };
        s.count++;
        s.sum += rows.dur[i];
        s.histogram[histogramBin(rows.dur[i])]++;
        sums.set(k, s);
      }
      return [...sums.values()].sort((a, b) => b.sum - a.sum);
    };
    const list = (title, all) => {
      const head = element("h3", { class: "small" }, title);
      const lines = all
        .slice(0, 8)
        .map((s) =>
          element(
            "tr",
            {},
            element("td", { class: "name", title: s.label }, shorten(s.label, 44)),
            element("td", { class: "number" }, formatCount(s.count)),
            element("td", { class: "number" }, formatTime(s.sum)),
            element("td", { class: "number" }, formatTime(s.sum / s.count)),
            element("td", {}, histogram(s.histogram, kindName(g.kind))),
          ),
        );
      return element(
        "div",
        {},
        head,
        element("table", { class: "small" }, element("tbody", {}, ...lines)),
        all.length > 8 ? element("p", { class: "note" }, `and ${formatCount(all.length - 8)} more`) : null,
      );
    };
    const slowest = [...g.rows].sort((a, b) => rows.dur[b] - rows.dur[a]).slice(0, 5);
    return element(
      "div",
      { class: "detail" },
      element("h3", {}, shorten(g.label, 400)),
      element(
        "div",
        {},
        element("h3", { class: "small" }, "durations"),
        histogram(g.histogram, kindName(g.kind), true),
      ),
      list(
        "by shape",
        by(
          (i) => rows.shape[i],
          (k) => view.shapes[k] || "not known",
        ),
      ),
      list(
        "by device",
        by(
          (i) => rows.device[i],
          (k) => (k === NONE ? "none" : view.devices[k].label),
        ),
      ),
      list(
        "by request",
        by(
          (i) => rows.request[i],
          (k) => (k === NONE ? "none" : view.requests[k].name),
        ),
      ),
      element(
        "div",
        {},
        element("h3", { class: "small" }, "slowest"),
        element(
          "ul",
          { class: "plain" },
          ...slowest.map((i) =>
            element(
              "li",
              {},
              pushLink(formatTime(rows.dur[i]) + " at " + formatTime(rows.start[i]), () => this.page.showRow(i)),
            ),
          ),
        ),
      ),
      element(
        "div",
        {},
        push("close", () => {
          store.set({ op: null });
          this.table.toggle(g.label);
        }),
      ),
    );
  }
}
