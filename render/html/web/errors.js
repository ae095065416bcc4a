// Errors of operations and other spans, by text.

import { NONE, KIND_SPAN } from "./rows.js";
import { element, pushLink, shorten, show } from "./dom.js";
import { count, keptTable } from "./columns.js";
import { formatCount, formatTime } from "./units.js";

// errorText returns the text of an error by its number behind a label, or null.
export const errorText = (view, error, label = "") => (error === NONE ? null : label + (view.errors[error] || "(no text)"));

// errorsOf returns a row per text of an error, name and kind of span in picked rows, the most frequent first.
export function errorsOf(rows, view, picked) {
  const groups = new Map();
  for (const i of picked) {
    if (rows.error[i] === NONE) continue;
    const span = rows.kind[i] === KIND_SPAN,
      key = [rows.error[i], rows.name[i], span].join();
    const g = groups.get(key) ?? { text: errorText(view, rows.error[i]), name: view.names[rows.name[i]], span, count: 0, first: i };
    g.count++;
    groups.set(key, g);
  }
  return [...groups.values()].sort((a, b) => b.count - a.count || (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
}

// errors fills the section.
export function errors(page, parent, { picked, isWhole }) {
  const { view, rows } = page,
    { report } = view;
  const all = [...(report.errors ?? []), ...(report.span_errors ?? [])].reduce((n, e) => n + e.count, 0);
  const found = errorsOf(rows, view, picked),
    box = element("div", {}),
    undrawn = all - found.reduce((n, g) => n + g.count, 0);
  const first = (g) =>
    pushLink(formatTime(rows.start[g.first]), () => page.showRow(g.first));
  keptTable(
    page,
    box,
    [
      { title: "error", value: (g) => g.text, class: "name", full: (g) => g.text, text: (g) => shorten(g.text, 90) },
      { title: "operation or span", value: (g) => g.name, full: (g) => g.name, text: (g) => shorten(g.name, 60) },
      { title: "kind", value: (g) => (g.span ? "span" : "operation") },
      count("count", (g) => g.count),
      { title: "first at", value: (g) => rows.start[g.first], render: first, numeric: true },
    ],
    { label: "errors", empty: "no error in the selection" },
  ).update(found, isWhole && undrawn > 0 ? `${formatCount(undrawn)} more are not drawn` : "");
  show(parent, box);
}
