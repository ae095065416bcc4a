// Repeated sequences of short operations, from the report on the whole run.

import { element, shorten, shortenName, show } from "./dom.js";
import { keptTable } from "./columns.js";
import { formatCount, formatShare, formatTime } from "./units.js";

// sequenceText joins the names of operations, with consecutive equal ones counted.
export function sequenceText(operations, most = 40) {
  const parts = [];
  for (let i = 0, n; i < operations.length; i += n) {
    for (n = 1; operations[i + n] === operations[i] && i + n < operations.length;) n++;
    parts.push(shortenName(operations[i], most) + (n > 1 ? " ×" + n : ""));
  }
  return parts.join(" → ");
}

// sequences fills the section.
export function sequences(page, parent) {
  const s = page.view.report.sequences;
  if (!s || s.count === 0) {
    show(parent, element("p", { class: "note" }, "No sequence of short operations comes again."));
    return;
  }
  const time = (title, value) => ({ title, value, text: (r) => formatTime(value(r)), numeric: true });
  const share = (title, value, hint) => ({
    title,
    value,
    text: (r) => (value(r) === null ? "–" : formatShare(value(r))),
    numeric: true,
    hint,
  });
  const box = element("div", {}),
    short = formatTime(s.short_ns);
  keptTable(
    page,
    box,
    [
      {
        title: "sequence",
        value: (r) => sequenceText(r.operations),
        text: (r) => shorten(sequenceText(r.operations), 72),
        class: "name",
        full: (r) => r.operations.join("\n"),
      },
      { title: "length", value: (r) => r.operations.length, numeric: true },
      { title: "times", value: (r) => r.count, text: (r) => formatCount(r.count), numeric: true },
      { title: "rounds", value: (r) => r.rounds, text: (r) => formatCount(r.rounds), numeric: true, hint: "in all occurrences" },
      time("sum", (r) => r.sum_ns),
      share("share", (r) => r.share, "of the time of all operations"),
      time("gaps", (r) => r.gap_ns),
      share("of both", (r) => r.gap_share, "the gaps' part of the time of the sequence"),
      { title: "streams", value: (r) => r.streams.length, numeric: true },
    ],
    { label: "sequences" },
  ).update(
    s.rows,
    `${formatCount(s.rows.length)} of ${formatCount(s.count)} sequences of the whole run: operations of up to ${short} that follow each other on a stream below one parent, within ${short}`,
  );
  show(parent, box);
}
