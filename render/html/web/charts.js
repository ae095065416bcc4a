// Small charts: bars, stacked bars, histograms and lines as SVG.

import { element } from "./dom.js";
import { HISTOGRAM_BINS } from "./rows.js";
import { formatCount, formatTime } from "./units.js";

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
  return element(
    "div",
    {},
    chart,
    element(
      "div",
      { class: "ends" },
      element("span", {}, formatTime(binStart(first))),
      element("span", {}, formatTime(binStart(last + 1))),
    ),
  );
}

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
