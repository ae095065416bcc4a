// The section of requests.

import { element, shorten, shortenName, show } from "./dom.js";
import { quantile } from "./rows.js";
import { Table } from "./table.js";
import { bar, latencies, overTime, stacked, strip } from "./charts.js";
import { formatCount, formatShare, formatTime } from "./units.js";
import { time, count } from "./columns.js";

// The most names of requests with charts, and the least requests of a name for one.
const CHARTS = 4,
  LEAST_CHARTED = 5,
  RATE_PARTS = 100;

// Requests shows latency and its parts.
export class Requests {
  constructor(page, parent) {
    this.page = page;
    this.charts = element("div", { class: "detail" });
    const box = element("div", {});
    show(parent, this.charts, box);
    this.table = new Table(
      box,
      [
        {
          title: "request",
          value: (r) => r.name,
          class: "name",
          full: (r) => r.name,
          text: (r) => shortenName(r.name, 48),
        },
        { title: "service", value: (r) => r.service ?? "", text: (r) => shorten(r.service ?? "", 30) },
        time("start", (r) => r.start),
        time("duration", (r) => r.dur),
        count("ops", (r) => r.ops),
        time("shared", (r) => r.shared_ns ?? null, "its part of the operations that ran for several requests at once"),
        time("without an op", (r) => r.uncovered, "time in which none of its operations ran"),
        {
          title: "critical path by kind",
          value: (r) => r.dur,
          class: "wide",
          render: (r) => stacked(r.kinds, this.scale),
        },
      ],
      {
        label: "requests",
        sort: { column: 3, descending: true },
        empty: "no request in the selection",
        key: (r) => r.trace + r.span,
        selected: (r) => page.store.state.request === r.index,
        detail: (r) => this.detail(r),
        onclick: (r, table) => {
          page.store.set({ request: page.store.state.request === r.index ? null : r.index });
          table.toggle(r.trace + r.span);
        },
      },
    );
  }

  update(from, to) {
    const { view } = this.page;
    const all = view.requests.filter(
      (r) => r.dur !== null && r.start >= (from ?? -Infinity) && r.start < (to ?? Infinity),
    );
    for (const r of all) {
      if (r.kinds) continue;
      const sums = new Map();
      for (const p of r.path) sums.set(p.kind, (sums.get(p.kind) ?? 0) + p.ns);
      r.kinds = [...sums].sort((a, b) => b[1] - a[1]).map(([kind, value]) => ({ kind, value, label: kind }));
    }
    this.scale = Math.max(1, ...all.map((r) => r.dur));
    this.chart(all);
    this.table.options.empty = view.requests_total === 0 ? "no request was recorded" : "no request in the selection";
    this.table.update(
      all,
      `${formatCount(all.length)} of ${formatCount(view.requests_total)} requests` +
        (view.requests.length < view.requests_total
          ? `; the page holds the ${formatCount(view.requests.length)} slowest`
          : ""),
    );
  }

  // chart shows how the latencies of the most frequent names are distributed, and when they were; the slow ones, above
  // the 95th percentile, are marked.
  chart(all) {
    const names = new Map(),
      { view } = this.page;
    for (const r of all) {
      if (!names.has(r.name)) names.set(r.name, []);
      names.get(r.name).push(r);
    }
    const few =
      view.requests.length < view.requests_total ? ` of the ${formatCount(view.requests.length)} slowest` : "";
    show(
      this.charts,
      ...[...names]
        .filter(([, list]) => list.length >= LEAST_CHARTED)
        .sort((a, b) => b[1].length - a[1].length)
        .slice(0, CHARTS)
        .flatMap(([name, list]) => {
          const sorted = list.map((r) => r.dur).sort((a, b) => a - b),
            slow = quantile(sorted, 0.95);
          const title = `${shorten(name, 40)}: ${formatCount(list.length)}${few}, p50 ${formatTime(quantile(sorted, 0.5))}, p95 ${formatTime(slow)}`;
          return [
            element("div", {}, element("h3", { class: "small" }, title), latencies(sorted, slow)),
            element(
              "div",
              {},
              element("h3", { class: "small" }, "over time, above p95 marked, and the number that began"),
              overTime(
                list.map((r) => ({ at: r.start, ns: r.dur })),
                slow,
                view.span_ns,
              ),
              this.rate(list),
              element(
                "div",
                { class: "ends" },
                element("span", {}, formatTime(0)),
                element("span", {}, formatTime(view.span_ns)),
              ),
            ),
          ];
        }),
    );
  }

  // rate shows how many requests began in each part of the time.
  rate(list) {
    const parts = new Array(RATE_PARTS).fill(0),
      { span_ns: span } = this.page.view;
    for (const r of list) parts[Math.min(RATE_PARTS - 1, Math.floor((r.start / Math.max(1, span)) * RATE_PARTS))]++;
    const most = Math.max(1, ...parts);
    return strip(
      parts.map((n) => n / most),
      "control",
      `requests that began, at most ${formatCount(most)} in ${formatTime(span / RATE_PARTS)}`,
    );
  }

  detail(r) {
    const most = Math.max(1, ...r.path.map((p) => p.ns));
    const lines = r.path
      .slice(0, 20)
      .map((p) =>
        element(
          "tr",
          {},
          element("td", { class: "name", title: p.operation }, shorten(p.operation, 44)),
          element("td", {}, shorten(p.device || "", 24)),
          element("td", { class: "number" }, formatTime(p.ns)),
          element("td", { class: "number" }, formatShare(p.ns / r.dur)),
          element("td", { class: "wide" }, bar(p.ns / most, p.kind)),
        ),
      );
    const link = r.link ? element("a", { href: r.link, rel: "noreferrer" }, "open in Jaeger") : null;
    const causes =
      (r.causes ?? []).length === 0
        ? null
        : element(
            "div",
            { class: "causes" },
            element("h3", { class: "small" }, "what it waited for"),
            element("ul", { class: "plain" }, ...r.causes.map((text) => element("li", {}, text))),
          );
    return element(
      "div",
      { class: "detail one" },
      causes,
      element(
        "div",
        {},
        element("h3", { class: "small" }, "critical path, which adds up to the request"),
        element("table", { class: "small" }, element("tbody", {}, ...lines)),
        r.path.length > 20 ? element("p", { class: "note" }, `and ${formatCount(r.path.length - 20)} more`) : null,
        element("p", { class: "note" }, "trace " + r.trace + " ", link),
      ),
      this.shared(r),
      element(
        "div",
        {},
        element(
          "button",
          {
            type: "button",
            onclick: (e) => {
              e.stopPropagation();
              this.page.showTime(r.start, r.start + r.dur);
            },
          },
          "show in the timeline",
        ),
      ),
    );
  }

  // shared lists the executions for a request and others.
  shared(r) {
    if (!r.shared_total) return null;
    const lines = r.shared.map((x) =>
      element(
        "tr",
        {},
        element(
          "td",
          { class: "name", title: x.name },
          x.row < 0
            ? shorten(x.name, 40)
            : element(
                "button",
                {
                  class: "link",
                  type: "button",
                  onclick: (e) => {
                    e.stopPropagation();
                    this.page.showRow(x.row);
                  },
                },
                shorten(x.name, 40),
              ),
        ),
        element("td", { class: "number" }, formatTime(x.start)),
        element("td", { class: "number" }, formatTime(x.dur)),
        element("td", { class: "number" }, formatCount(x.requests)),
        element("td", { class: "number" }, formatCount(x.ops)),
        element("td", { class: "number" }, formatTime(x.ns)),
      ),
    );
    const more = r.shared_total - r.shared.length;
    return element(
      "div",
      {},
      element("h3", { class: "small" }, "executions for several requests"),
      element(
        "table",
        { class: "small" },
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            ...["execution", "start", "duration", "requests", "ops", "part"].map((t, i) =>
              element("th", { class: i > 0 ? "number" : null }, t),
            ),
          ),
        ),
        element("tbody", {}, ...lines),
      ),
      more > 0 ? element("p", { class: "note" }, `… and ${formatCount(more)} more`) : null,
    );
  }
}
