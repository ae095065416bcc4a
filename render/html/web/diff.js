// The comparison of the run with a base: changes in speed and their bounds.

import { element, shortenName, show } from "./dom.js";
import { Table } from "./table.js";
import { svg } from "./charts.js";
import { formatChange, formatCount, formatTime, plural } from "./units.js";

const VERDICTS = ["slower", "faster", "more", "less", "added", "removed", "unchanged", "cannot_tell", "too_few"];
const isDecided = (c) => c.delta !== null && c.verdict !== "too_few";
const isChanged = (c) => VERDICTS.indexOf(c.verdict) < 4;

// verdict describes the change of a row, and the evidence needed for an undecided one.
function verdict(c) {
  if (c.verdict === "too_few") return "too few to tell";
  const needed = c.verdict === "cannot_tell" && c.needed !== null ? `, ${formatCount(c.needed)} ${c.unit} would` : "";
  return c.verdict.replaceAll("_", " ") + needed;
}

// keyLabel names a row by the values of its keys.
export function keyLabel(row) {
  const values = Object.values(row.key).map((v) => (v === null ? "unknown" : String(v)));
  return values.join(", ") + (row.side ? ` (${row.side})` : "");
}

// bounds returns a change with its interval, as parts of the base.
export function bounds(c) {
  return { low: c.delta_low, estimate: c.delta, high: c.delta_high };
}

// intervalScale returns the change at the end of the bars; nine in ten of the intervals fit.
export function intervalScale(comparisons) {
  const ends = comparisons
    .filter(isDecided)
    .map((c) => Math.max(Math.abs(bounds(c).low), Math.abs(bounds(c).high)))
    .sort((a, b) => a - b);
  return Math.max(0.01, ends[Math.ceil(ends.length * 0.9) - 1] ?? 0);
}

// interval returns a bar from the lower to the upper bound of a change, with zero in the
// middle.
function interval(c, scale) {
  if (!isDecided(c)) return "–";
  const b = bounds(c),
    x = (v) => Math.max(-100, Math.min(100, (v / scale) * 100));
  const text = `${formatChange(b.low)} to ${formatChange(b.high)}`;
  return svg(
    "svg",
    {
      "class": "interval " + c.verdict,
      "viewBox": "-100 0 200 10",
      "preserveAspectRatio": "none",
      "role": "img",
      "aria-label": text,
    },
    svg("title", {}, document.createTextNode(text)),
    svg("rect", { x: -0.5, width: 1, height: 10, class: "zero" }),
    svg("rect", { x: x(b.low), y: 3, width: Math.max(1, x(b.high) - x(b.low)), height: 4 }),
    svg("rect", { x: x(b.estimate) - 1, width: 2, height: 10 }),
  );
}

// figures are the columns of a comparison.
function figures(scale) {
  return [
    { title: "base", value: (c) => c.base_ns, text: (c) => formatTime(c.base_ns), numeric: true },
    { title: "head", value: (c) => c.head_ns, text: (c) => formatTime(c.head_ns), numeric: true },
    {
      title: "change",
      value: (c) => (isDecided(c) ? c.delta : null),
      text: (c) => (!isDecided(c) ? "–" : !isChanged(c) ? "~" : formatChange(c.delta)),
      numeric: true,
    },
    {
      title: "interval",
      value: (c) => (isDecided(c) ? c.delta : null),
      class: "wide",
      render: (c) => interval(c, scale),
    },
    {
      title: "p",
      value: (c) => c.p,
      text: (c) => (c.p === null ? "–" : c.p < 0.0005 ? "<\u200a0.001" : c.p.toFixed(3)),
      numeric: true,
      hint: "adjusted for all tests of the comparison",
    },
    {
      title: "n",
      value: (c) => c.n_base + c.n_head,
      text: (c) => `${c.n_base}+${c.n_head}`,
      numeric: true,
      hint: "values of the base and the head",
    },
    {
      title: "verdict",
      value: (c) => VERDICTS.indexOf(c.verdict),
      text: verdict,
    },
  ];
}

// difference fills the section of the comparison, if the page has one.
export function difference(page, parent) {
  const { diff } = page.view;
  if (!parent || !diff) return;
  const units = {
    runs: "means of runs",
    steps: "means of steps",
    entries: "single operations",
  };
  const operations = element("div", {}),
    parts = element("div", {});
  const scale = intervalScale([...diff.rows, ...diff.parts]);
  const table = new Table(
    operations,
    [
      { title: "operation", value: keyLabel, class: "name", full: keyLabel, text: (r) => shortenName(keyLabel(r), 60) },
      {
        title: "count",
        value: (r) => r.head_count,
        text: (r) =>
          r.base_count === r.head_count
            ? formatCount(r.head_count)
            : `${formatCount(r.base_count)} → ${formatCount(r.head_count)}`,
        numeric: true,
      },
      ...figures(scale),
    ],
    {
      label: "operations compared",
      empty: "no operations",
      selected: (r) => page.store.state.op !== null && page.view.names[page.store.state.op] === r.key.operation,
      onclick: (r) => {
        const name = page.view.names.indexOf(r.key.operation);
        if (name >= 0) page.store.set({ op: page.store.state.op === name ? null : name });
      },
    },
  );
  table.update(
    diff.rows,
    `${units[diff.unit] ?? diff.unit}; Mann–Whitney U test, adjusted for ${plural(diff.tests, "test")}, α ${diff.alpha}; unchanged is within ${100 * diff.bound} %; bars end at ${formatChange(scale)}`,
  );
  new Table(
    parts,
    [
      {
        title: "time of",
        value: (p) => (p.device === null ? "all" : p.device.device_id),
        class: "name",
        text: (p) =>
          p.device === null
            ? "all"
            : shortenName((p.device.rank === null ? "" : p.device.rank + "/") + p.device.device_id, 40),
      },
      { title: "part", value: (p) => p.part, text: (p) => p.part.replaceAll("_", " ") },
      ...figures(scale),
    ],
    { label: "time compared", empty: "nothing has a start" },
  ).update(diff.parts, "");
  show(parent, ...diff.warnings.map((w) => element("p", { class: "note" }, w)), operations, parts);
  return table;
}
