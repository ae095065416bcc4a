// The sections of steps, of phases and of the requests of engines.

import { element, shortenName, show } from "./dom.js";
import { series, stacked } from "./charts.js";
import { percentile } from "./rows.js";
import { stepsOf } from "./selected.js";
import { formatTime, plural } from "./units.js";
import { time, count, keptTable, named } from "./columns.js";

// phases fills the table of phases of the whole run.
export function phases(page, parent) {
  const all = page.view.report.phases ?? [],
    box = element("div", {});
  keptTable(
    page,
    box,
    [
      named("phase", (p) => p.phase ?? "unknown"),
      count("steps", (p) => p.steps),
      count("operations", (p) => p.count),
      time("sum", (p) => p.sum_ns),
      count("tokens", (p) => p.tokens),
    ],
    { label: "phases", empty: "no phases were recorded" },
  ).update(all, "");
  show(parent, box);
}

// engines fills the table of requests of engines in the whole run.
export function engines(page, parent) {
  const all = page.view.report.engines ?? [];
  if (all.length === 0) return;
  const median = (title, key, hint) => time(title, (e) => e[key]?.p50, "the median of " + hint);
  const box = element("div", {});
  keptTable(
    page,
    box,
    [
      named("engine", (e) => e.dialect),
      named("service", (e) => e.service ?? ""),
      named("model", (e) => e.model ?? ""),
      ...Object.keys(all[0].key ?? {}).map((k) => named(k, (e) => e.key?.[k] ?? "")),
      count("requests", (e) => e.requests),
      count("tokens in", (e) => e.tokens_in),
      count("out", (e) => e.tokens_out),
      median("e2e", "e2e_ns", "whole requests"),
      time("p99", (e) => e.e2e_ns?.p99),
      median("ttft", "ttft_ns", "the time to the first token"),
      median("tpot", "tpot_ns", "the time from one token to the next (TGI: with the prefill)"),
      ...["queue", "prefill", "decode", "execute", "other"].map((name) => median(name, name + "_ns", "that part of the requests")),
    ],
    { label: "requests of engines", empty: "" },
  ).update(all, "");
  show(parent, box);
}

// steps fills the section of training steps: the whole steps of operations in the selection.
export function steps(page, parent, { picked, isWhole, from, to }) {
  const { step_starts: starts, span_ns: span } = page.view,
    recorded = page.view.report.steps ?? [],
    within = isWhole ? null : stepsOf(page.rows, page.view, picked);
  const all = isWhole ? recorded : recorded.filter((s) => within.has(s.step)),
    loops = new Map();
  recorded.forEach((s, i) => {
    const at = starts[i];
    if (at === null || at < from || at >= to || !(isWhole || within.has(s.step))) return;
    const loop = s.service ? "steps of " + s.service : "steps";
    if (!loops.has(loop)) loops.set(loop, []);
    loops.get(loop).push({ at, ns: s.to_next_ns });
  });
  const box = element("div", {});
  const most = Math.max(1, ...all.map((s) => s.to_next_ns ?? s.wall_ns ?? 0));
  const times = all
      .map((s) => s.to_next_ns)
      .filter((v) => v !== null)
      .sort((a, b) => a - b),
    median = percentile(times, 50) ?? 0;
  const several = all.some((s) => (s.service ?? "") !== (all[0].service ?? "")),
    again = all.some((s) => s.run > 1);
  keptTable(
    page,
    box,
    [
      ...(several
        ? [
            {
              title: "service",
              value: (s) => s.service ?? "",
              class: "name",
              text: (s) => shortenName(s.service ?? "", 30),
            },
          ]
        : []),
      count("step", (s) => s.step),
      ...(again ? [count("run", (s) => s.run)] : []),
      count("operations", (s) => s.count),
      time("sum", (s) => s.sum_ns),
      time("to next", (s) => s.to_next_ns),
      time("wall", (s) => s.wall_ns),
      time("busy", (s) => s.busy_ns),
      ...(all.some((s) => s.phase) ? [named("phase", (s) => s.phase ?? "")] : []),
      ...(all.some((s) => s.tokens !== null) ? [count("tokens", (s) => s.tokens)] : []),
      ...(all.some((s) => s.requests !== null) ? [count("requests", (s) => s.requests)] : []),
      ...(all.some((s) => s.name) ? [named("range", (s) => s.name ?? "")] : []),
      {
        title: "to next and busy",
        value: (s) => s.to_next_ns,
        class: "wide",
        render: (s) =>
          stacked(
            [
              { value: s.busy_ns ?? 0, kind: "compute", label: "busy" },
              { value: Math.max(0, (s.to_next_ns ?? s.wall_ns ?? 0) - (s.busy_ns ?? 0)), kind: "span", label: "idle" },
            ],
            most,
          ),
      },
      {
        title: "beside the median",
        value: (s) => (s.to_next_ns > 1.5 * median ? 1 : 0),
        text: (s) => (median > 0 && s.to_next_ns > 1.5 * median ? `${(s.to_next_ns / median).toFixed(1)} × the median` : ""),
      },
    ],
    { label: "steps", empty: recorded.length > 0 ? "no step in the selection" : "no steps were recorded" },
  ).update(all, all.length > 0 ? `${plural(all.length, "step")}, median ${formatTime(median)}` : "");
  const charts = element("div", { class: "detail" }, ...series(loops, Math.max(0, from), Math.min(span, to)));
  show(parent, charts, box);
}
