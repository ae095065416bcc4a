// The section of memory.

import { element, shorten, show } from "./dom.js";
import { strip } from "./charts.js";
import { bucketsIn, hotspotsOf } from "./selected.js";
import { formatBytes, formatCount, formatTime } from "./units.js";
import { time, deviceName, keptTable, named } from "./columns.js";

// memory fills the section of memory, as communication does its own.
export function memory(page, parent, { picked, isWhole, from, to }) {
  const { view } = page,
    m = view.report.memory;
  const parts = [];
  const over = m?.over_time;
  if (over && (over.devices ?? []).length > 0) {
    const [first, last] = bucketsIn(over, over.start_unix_ns - Number(view.origin_ns), from, to);
    const written = over.devices.map((d) => d.written_bytes.slice(first, last)),
      most = Math.max(0, ...written.flat());
    parts.push(
      element(
        "div",
        { class: "scroll" },
        element(
          "table",
          { class: "small" },
          element(
            "tbody",
            {},
            ...over.devices.map((d, k) =>
              element(
                "tr",
                {},
                element("td", { class: "name" }, shorten(deviceName(d), 30)),
                element(
                  "td",
                  { class: "wide" },
                  strip(
                    written[k].map((v) => v / Math.max(1, most)),
                    "memory",
                    "bytes written over time",
                  ),
                ),
              ),
            ),
          ),
        ),
      ),
      element(
        "p",
        { class: "note" },
        most > 0
          ? `bytes written per ${formatTime(over.bucket_ns)}, the highest column is ${formatBytes(most)}`
          : "no operation states memory",
      ),
    );
  }
  const limit = (m?.hotspots ?? []).length;
  const { found, total } =
    isWhole || !m
      ? { found: m?.hotspots ?? [], total: m?.hotspot_count }
      : hotspotsOf(page.rows, view, picked, m.threshold_bytes, Math.max(10, limit));
  const shapes = (r) => r.shapes ?? (r.output_shape ? JSON.stringify(r.output_shape) : null);
  const box = element("div", {});
  keptTable(
    page,
    box,
    [
      named("operation", (r) => r.operation),
      { title: "device", value: (r) => r.device_id ?? "", text: (r) => shorten(r.device_id ?? "", 30) },
      { title: "memory", value: (r) => r.memory_bytes, text: (r) => formatBytes(r.memory_bytes), numeric: true },
      time("duration", (r) => r.duration_ns ?? r.duration_us * 1000),
      { title: isWhole ? "output shape" : "shapes", value: shapes, text: (r) => shapes(r) ?? "–" },
    ],
    { label: "memory hotspots", empty: "no operation above the threshold" },
  ).update(
    found,
    m
      ? `the first ${formatCount(found.length)} of ${formatCount(total)} operations above ${formatBytes(m.threshold_bytes)}`
      : "",
  );
  show(parent, ...parts, box);
}
