// The section of requests.

import { element, push, pushLink, shorten, show } from "./dom.js";
import { Table } from "./table.js";
import { bar, series, stacked } from "./charts.js";
import { formatCount, formatShare, formatTime } from "./units.js";
import { time, count, named } from "./columns.js";

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
        named("request", (r) => r.name, 48),
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
    this.chart(from ?? -Infinity, to ?? Infinity);
    this.table.options.empty = view.requests_total === 0 ? "no request was recorded" : "no request in the selection";
    this.table.update(
      all,
      `${formatCount(all.length)} of ${formatCount(view.requests_total)} requests` +
        (view.requests.length < view.requests_total
          ? `; the page holds the ${formatCount(view.requests.length)} slowest`
          : ""),
    );
  }

  // chart shows the latencies of all requests of the most frequent names: those of the table, unless the page has more.
  chart(from, to) {
    const { view } = this.page,
      lists = new Map();
    const add = (name, at, ns) => {
      if (at < from || at >= to) return;
      if (!lists.has(name)) lists.set(name, []);
      lists.get(name).push({ at, ns });
    };
    if (!view.latencies) for (const r of view.requests) add(r.name, r.start, r.dur);
    for (const l of view.latencies ?? []) {
      let at = 0;
      l.starts.forEach((after, i) => add(l.name, (at += after), l.durs[i]));
    }
    show(this.charts, ...series(lists, Math.max(0, from), Math.min(view.span_ns, to)));
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
        push("show in the timeline", () => this.page.showTime(r.start, r.start + r.dur)),
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
          x.row < 0 ? shorten(x.name, 40) : pushLink(shorten(x.name, 40), () => this.page.showRow(x.row)),
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
