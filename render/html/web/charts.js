// Small charts: bars, stacked bars, histograms and lines as SVG.

import { element, shorten } from "./dom.js";
import { HISTOGRAM_BINS, percentile } from "./rows.js";
import { formatCount, formatRate, formatTime } from "./units.js";

const SVG = "http://www.w3.org/2000/svg";

// svg makes an SVG element.
export function svg(tag, attributes, ...children) {
  const e = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes ?? {}))
    if (value !== null && value !== undefined) e.setAttribute(name, value);
  e.append(...children.filter(Boolean));
  return e;
}

// bar returns a bar for a share of its cell.
export function bar(share, kind) {
  const w = Math.max(0, Math.min(1, share || 0)) * 100;
  return svg(
    "svg",
    { "class": "bar", "viewBox": "0 0 100 10", "preserveAspectRatio": "none", "aria-hidden": "true" },
    svg("rect", { width: w, height: 10, class: "kind-" + (kind ?? "accent") }),
  );
}

// stacked returns a bar of parts [{value, kind, label}] on a scale of total.
export function stacked(parts, total) {
  let x = 0;
  const boxes = parts.map((p) => {
    const w = total > 0 ? (p.value / total) * 1000 : 0;
    const box = svg(
      "rect",
      { x, width: Math.max(0, w), height: 10, class: "kind-" + p.kind },
      svg("title", {}, document.createTextNode(p.label + " " + formatTime(p.value))),
    );
    x += w;
    return box;
  });
  return svg(
    "svg",
    {
      "class": "stacked",
      "viewBox": "0 0 1000 10",
      "preserveAspectRatio": "none",
      "role": "img",
      "aria-label": parts.map((p) => p.label + " " + formatTime(p.value)).join(", "),
    },
    ...boxes,
  );
}

// histogram returns the bins of a histogram of durations as bars.
export function histogram(bins, kind, large = false) {
  let first = bins.findIndex((n) => n > 0),
    last = HISTOGRAM_BINS - 1;
  while (last > 0 && bins[last] === 0) last--;
  if (first < 0) return element("span", {}, "–");
  if (!large) [first, last] = [0, HISTOGRAM_BINS - 1];
  const most = Math.max(...bins),
    n = last - first + 1,
    boxes = [];
  for (let k = first; k <= last; k++) {
    if (bins[k] === 0) continue;
    const h = Math.max(0.06, bins[k] / most) * 100;
    boxes.push(
      svg(
        "rect",
        { x: k - first + 0.06, y: 100 - h, width: 0.88, height: h, class: "kind-" + kind },
        svg(
          "title",
          {},
          document.createTextNode(
            `${formatTime(binStart(k))} to ${formatTime(binStart(k + 1))}: ${formatCount(bins[k])}`,
          ),
        ),
      ),
    );
  }
  const chart = svg(
    "svg",
    {
      "class": large ? "histogram large" : "histogram",
      "viewBox": `0 0 ${n} 100`,
      "preserveAspectRatio": "none",
      "aria-hidden": "true",
    },
    ...boxes,
  );
  if (!large) return chart;
  return element("div", {}, chart, ends(binStart(first), binStart(last + 1)));
}

// ends returns the times below a chart.
const ends = (from, to) =>
  element("div", { class: "ends" }, element("span", {}, formatTime(from)), element("span", {}, formatTime(to)));

function binStart(k) {
  return k === 0 ? 0 : Math.pow(10, 2 + k / 4);
}

// strip returns values between 0 and 1 as a row of columns.
export function strip(values, kind, label) {
  return svg(
    "svg",
    {
      "class": "strip",
      "viewBox": `0 0 ${values.length} 1`,
      "preserveAspectRatio": "none",
      "role": "img",
      "aria-label": label,
    },
    ...values.map((v, i) => svg("rect", { x: i, y: 1 - v, width: 1.02, height: v, class: "kind-" + kind })),
  );
}

// LATENCY_BINS is the number of equal parts of a histogram of latencies.
const LATENCY_BINS = 40;

// latencyBins divides values into equal parts between the least and the largest: the number in each, and of these the
// number above slow.
export function latencyBins(values, slow) {
  let [least, most] = [Infinity, -Infinity];
  for (const v of values) [least, most] = [Math.min(least, v), Math.max(most, v)];
  const bins = Array.from({ length: LATENCY_BINS }, () => ({ count: 0, slow: 0 })),
    width = Math.max(1, (most - least) / LATENCY_BINS);
  for (const v of values) {
    const b = bins[Math.min(LATENCY_BINS - 1, Math.floor((v - least) / width))];
    b.count++;
    if (v > slow) b.slow++;
  }
  return { bins, least, most };
}

// latencies returns a histogram of durations in which those above slow are marked.
function latencies(values, slow) {
  const { bins, least, most } = latencyBins(values, slow),
    highest = Math.max(1, ...bins.map((b) => b.count));
  const part = (x, y, n, kind) =>
    n > 0 ? svg("rect", { x: x + 0.06, y, width: 0.88, height: (n / highest) * 100, class: "kind-" + kind }) : null;
  const text = `${formatCount(values.length)} durations from ${formatTime(least)} to ${formatTime(most)}, ${formatCount(bins.reduce((n, b) => n + b.slow, 0))} above ${formatTime(slow)}`;
  return element(
    "div",
    {},
    svg(
      "svg",
      {
        "class": "histogram large",
        "viewBox": `0 0 ${LATENCY_BINS} 100`,
        "preserveAspectRatio": "none",
        "role": "img",
        "aria-label": text,
      },
      ...bins.flatMap((b, x) => {
        const high = (b.count / highest) * 100,
          marked = (b.slow / highest) * 100;
        return [part(x, 100 - high, b.slow, "collective"), part(x, 100 - high + marked, b.count - b.slow, "compute")];
      }),
    ),
    element("div", { class: "ends" }, element("span", {}, formatTime(least)), element("span", {}, formatTime(most))),
  );
}

// overTime returns marks for durations {at, ns} over the time between from and to; those above slow stand out.
function overTime(list, slow, from, to) {
  const most = Math.max(...list.map((d) => d.ns));
  return svg(
    "svg",
    {
      "class": "histogram large",
      "viewBox": "0 0 1000 100",
      "preserveAspectRatio": "none",
      "role": "img",
      "aria-label": `durations over time, the highest ${formatTime(most)}`,
    },
    ...list.map((d) =>
      svg("rect", {
        x: ((d.at - from) / (to - from)) * 996,
        y: 95 - (d.ns / Math.max(1, most)) * 95,
        width: 4,
        height: 5,
        class: "kind-" + (d.ns > slow ? "collective" : "compute"),
      }),
    ),
  );
}

// The most names with charts, and the least durations of a name for one; the parts of the time in a rate.
const CHARTED = 4,
  LEAST_CHARTED = 5,
  RATE_PARTS = 100;

// beginnings counts the durations {at, ns} that begin in each of equal parts of the time between from and to.
export function beginnings(list, from, to) {
  const parts = new Array(RATE_PARTS).fill(0);
  for (const d of list)
    parts[Math.max(0, Math.min(RATE_PARTS - 1, Math.floor(((d.at - from) / (to - from)) * RATE_PARTS)))]++;
  return parts;
}

// series returns charts of the durations {at, ns} of each of the most frequent names, between from and to: how they are
// distributed, when they were, and how many began. The slow ones, above the 95th percentile, are marked.
export function series(lists, from, to) {
  to = Math.max(from + 1, to);
  return [...lists]
    .filter(([, list]) => list.length >= LEAST_CHARTED)
    .sort((a, b) => b[1].length - a[1].length)
    .slice(0, CHARTED)
    .flatMap(([name, list]) => {
      const sorted = list.map((d) => d.ns).sort((a, b) => a - b),
        slow = percentile(sorted, 95),
        began = beginnings(list, from, to),
        most = Math.max(...began);
      const rate = formatRate((list.length / (to - from)) * 1e9, "").trim() + " a second",
        often = `${rate} began, at most ${formatCount(most)} in ${formatTime((to - from) / RATE_PARTS)}`;
      const titled = (title, ...charts) =>
        element("div", {}, element("h3", { class: "small" }, title), ...charts);
      return [
        titled(
          `${shorten(name, 40)}: ${formatCount(list.length)}, p50 ${formatTime(percentile(sorted, 50))}, p95 ${formatTime(slow)}`,
          latencies(sorted, slow),
        ),
        titled(
          `over time; ${often}`,
          overTime(list, slow, from, to),
          strip(
            began.map((n) => n / most),
            "control",
            often,
          ),
          ends(from, to),
        ),
      ];
    });
}
