// The section of communication.

import { element, shorten, show } from "./dom.js";
import { bar } from "./charts.js";
import { collectivesIn, communicatingOf } from "./selected.js";
import { formatCount, formatRate, formatShare } from "./units.js";
import { time, count, deviceName, keptTable, named } from "./columns.js";

// communication fills the section of collective operations, with the report's figures for the whole run, otherwise with
// figures of the selected operations.
export function communication(page, parent, { picked, isWhole, from, to }) {
  const { view } = page,
    c = view.report.communication;
  const rows = isWhole
    ? (c?.collectives ?? [])
    : collectivesIn(page.rows, view.names, page.timeline.overlays.collectives, from, to);
  const bottlenecks = isWhole ? (c?.bottlenecks ?? []) : communicatingOf(page.rows, view.names, picked);
  if (rows.length === 0) {
    const found = bottlenecks.length;
    show(
      parent,
      element(
        "p",
        { class: "note" },
        found > 0
          ? "Operations that communicate, but no collective seen on several devices."
          : isWhole
            ? "No communication was recognised."
            : "No communication in the selection.",
      ),
    );
    if (found === 0) return;
  }
  const parts = [];
  if (rows.length > 0) {
    const box = element("div", {});
    keptTable(
      page,
      box,
      [
        named("collective", (r) => r.name, 40),
        { title: "group", value: (r) => r.group ?? "", text: (r) => shorten(r.group ?? "", 30) },
        count("count", (r) => r.count),
        time("transfer", (r) => r.transfer_ns, "the shortest duration among the devices"),
        time("wait", (r) => r.wait_ns, "what all devices took beyond the transfer"),
        time("max skew", (r) => r.max_start_skew_ns),
        {
          title: "algorithm",
          value: (r) => r.algorithm_bytes_per_second,
          text: (r) => formatRate(r.algorithm_bytes_per_second, "B/s"),
          numeric: true,
        },
        {
          title: "bus",
          value: (r) => r.bus_bytes_per_second,
          text: (r) => formatRate(r.bus_bytes_per_second, "B/s"),
          numeric: true,
        },
        { title: "straggler", value: (r) => stragglerOf(r) },
      ],
      { label: "collectives" },
    ).update(
      rows,
      "transfer: the shortest duration among the devices; wait: what all devices took beyond it; the straggler is the device that waits least",
    );
    parts.push(box);
  }
  const box = element("div", {});
  keptTable(
    page,
    box,
    [
      named("operation", (r) => r.operation),
      count("calls", (r) => r.call_count),
      time("sum", (r) => r.total_duration_us * 1000),
      {
        title: "of all",
        value: (r) => r.ratio_of_total,
        render: (r) =>
          element("span", { class: "withbar" }, bar(r.ratio_of_total, "collective"), formatShare(r.ratio_of_total)),
        numeric: true,
      },
    ],
    { label: "communication" },
  ).update(
    bottlenecks,
    !isWhole || !c
      ? ""
      : `recognised by attribute ${formatCount(c.rules.attribute)}, by library name ${formatCount(c.rules.library)}, by a word in the name ${formatCount(c.rules.name)}`,
  );
  show(parent, ...parts, box);
}

function stragglerOf(r) {
  const s = (r.stragglers ?? [])[0];
  return s ? `${s.rank !== null && s.rank !== undefined ? s.rank + "/" : ""}${deviceName(s)}` : "";
}
