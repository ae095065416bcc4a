// Quantities as text, in the manner of the terminal's report: three significant
// digits and a unit.

function significant(x) {
  const a = Math.abs(x);
  return a >= 100 ? x.toFixed(0) : a >= 10 ? x.toFixed(1) : x.toFixed(2);
}

// scaled formats x in the largest unit that leaves at least one whole. step has the factors between neighbouring units.
function scaled(x, units, step) {
  let i = 0;
  while (i + 1 < units.length && Math.abs(x) >= step) {
    x /= step;
    i++;
  }
  // Rounding must not show a thousand of a unit.
  if (i + 1 < units.length && Number(significant(x)) >= step) {
    x /= step;
    i++;
  }
  return (i === 0 && Number.isInteger(x) ? String(x) : significant(x)) + "\u00a0" + units[i];
}

// long formats a minute or more of nanoseconds in two units, the second one whole.
function long(ns) {
  const pair = (n, per, large, small) => `${Math.floor(n / per)}\u00a0${large}\u00a0${n % per}\u00a0${small}`;
  const seconds = Math.round(ns / 1e9),
    minutes = Math.round(ns / 60e9);
  if (seconds < 3600) return pair(seconds, 60, "min", "s");
  return minutes < 24 * 60 ? pair(minutes, 60, "h", "min") : pair(Math.round(ns / 3600e9), 24, "d", "h");
}

// formatTime formats a number of nanoseconds.
export function formatTime(ns) {
  if (ns === null || ns === undefined) return "–";
  const a = Math.abs(ns),
    sign = ns < 0 ? "−" : "";
  if (a >= 59.95e9) return sign + long(a); // three digits would be a minute
  return scaled(ns, ["ns", "µs", "ms", "s"], 1000).replace("-", "−");
}

// formatRange describes a selected range of the time from 0 to span. A server's window may have left it behind.
export function formatRange(from, to, span) {
  if (to !== null && to <= 0) return "a time before all that is here";
  if (from !== null && from > span) return "a time behind all that is here";
  return `${formatTime(Math.max(0, from ?? 0))} to ${formatTime(Math.min(span, to ?? span))}`;
}

// formatBytes formats a number of bytes.
export function formatBytes(n) {
  return n === null || n === undefined ? "–" : scaled(n, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"], 1024);
}

// formatRate formats a number per second, such as FLOP/s.
export function formatRate(n, unit) {
  return n === null || n === undefined || !Number.isFinite(n)
    ? "–"
    : scaled(
        n,
        ["", "k", "M", "G", "T", "P"].map((p) => p + unit),
        1000,
      );
}

// plural writes a number and a noun: 1 step, 2 steps.
export const plural = (n, noun) => `${formatCount(n)} ${noun}${n === 1 ? "" : "s"}`;

// formatCount formats a whole number with separators.
export function formatCount(n) {
  return n === null || n === undefined
    ? "–"
    : Math.round(n)
        .toString()
        .replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

// formatShare formats a fraction as a percentage.
export function formatShare(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  const p = x * 100;
  return (p !== 0 && Math.abs(p) < 0.1 ? "<\u200a0.1" : Math.abs(p) >= 99.95 ? p.toFixed(0) : p.toFixed(1)) + "\u00a0%";
}

// formatChange formats a fraction with its sign.
export function formatChange(x) {
  return x === null || x === undefined || !Number.isFinite(x) ? "–" : (x < 0 ? "−" : "+") + formatShare(Math.abs(x));
}

// argumentFacts returns how a kernel was launched, as pairs of a label and a text: arguments have the names of PyTorch's
// profiler, call is how long the launching call took.
export function argumentFacts(args, call) {
  const known = (name, text) => (args[name] === undefined ? null : text(args[name])),
    whole = (v) => String(v);
  return [
    ["launching call", known("tensor.launch.call", whole)],
    ["call took", call > 0 ? formatTime(call) : null],
    ["CUDA graph", known("graph id", whole)],
    ["captured in", known("graph node name", whole)],
    ["grid", known("grid", (v) => [v].flat().join(" × "))],
    ["block", known("block", (v) => [v].flat().join(" × "))],
    ["registers per thread", known("registers per thread", whole)],
    ["shared memory", known("shared memory", (v) => formatBytes(Number(v)))],
    ["occupancy", known("est. achieved occupancy %", (v) => `${v}\u00a0% (estimate)`)],
  ];
}

// timeTicks returns round times between from and to, at most count of them.
export function timeTicks(from, to, count) {
  const span = to - from;
  if (!(span > 0)) return [from];
  const step = tickStep(span, count),
    ticks = [];
  for (let i = Math.ceil(from / step); i * step <= to; i++) ticks.push(i * step);
  return ticks;
}

// tickStep returns the distance of ticks: 1, 2 or 5 times a power of ten, at least 1 ns.
function tickStep(span, count) {
  const step = Math.pow(10, Math.ceil(Math.log10(span / count)));
  const divisor = [5, 2].find((d) => span / (step / d) <= count) ?? 1;
  return Math.max(1, step / divisor);
}

const TIME_UNITS = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

// axisLabels returns the ticks of an axis from from to to with texts that tell neighbours apart. Where their common part
// takes many digits, offset states it once and the texts go on from there.
export function axisLabels(from, to, count) {
  const span = to - from,
    step = tickStep(Math.max(1, span), count),
    ticks = timeTicks(from, to, count);
  const exact = (ns, size, unit) => {
    const digits = Math.max(0, Math.round(Math.log10(size)) - Math.floor(Math.log10(step) + 1e-9));
    return (ns / size).toFixed(digits) + "\u00a0" + unit;
  };
  const unitOf = (ns) => TIME_UNITS.find(([size]) => Math.abs(ns) >= size) ?? TIME_UNITS.at(-1);
  const whole = unitOf(to);
  if (step * 1e4 >= to) return { offset: 0, text: "", ticks: ticks.map((t) => ({ t, text: exact(t, ...whole) })) };
  const offset = ticks[0] ?? from,
    part = unitOf(span);
  return {
    offset,
    text: exact(offset, ...whole),
    ticks: ticks.map((t) => ({ t, text: "+" + exact(t - offset, ...part) })),
  };
}
