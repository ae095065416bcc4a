// Figures of the operations in a selection, for sections that show the report's figures for the whole run.

import { KINDS, KIND_SPAN, NONE } from "./rows.js";

const COLLECTIVE = KINDS.indexOf("collective");

// communicatingOf returns a row per communicating operation, largest sum first, and its share of the sum of all
// operations.
export function communicatingOf(rows, names, picked) {
  const byName = new Map();
  let total = 0;
  for (const i of picked) {
    if (rows.kind[i] >= KIND_SPAN) continue;
    total += rows.dur[i];
    if (rows.kind[i] !== COLLECTIVE) continue;
    const r = byName.get(rows.name[i]) ?? { operation: names[rows.name[i]], call_count: 0, sum_ns: 0 };
    r.call_count++;
    r.sum_ns += rows.dur[i];
    byName.set(rows.name[i], r);
  }
  for (const r of byName.values())
    Object.assign(r, { total_duration_us: r.sum_ns / 1000, ratio_of_total: r.sum_ns / total });
  return [...byName.values()].sort((a, b) => b.sum_ns - a.sum_ns);
}

// collectivesIn returns a row per name of the collectives with a start in a range: their number, the sums of their
// transfers and waits, and the largest skew of starts.
export function collectivesIn(rows, names, collectives, from, to) {
  const byName = new Map();
  for (const c of collectives) {
    if (c.from < from || c.from >= to) continue;
    const name = names[rows.name[c.rows[0]]];
    const r = byName.get(name) ?? {
      name,
      group: null,
      count: 0,
      transfer_ns: 0,
      wait_ns: 0,
      max_start_skew_ns: 0,
      algorithm_bytes_per_second: null,
      bus_bytes_per_second: null,
    };
    r.count++;
    r.transfer_ns += c.transfer;
    for (const i of c.rows) r.wait_ns += rows.dur[i] - c.transfer;
    r.max_start_skew_ns = Math.max(r.max_start_skew_ns, Math.max(...c.rows.map((i) => rows.start[i])) - c.from);
    byName.set(name, r);
  }
  return [...byName.values()].sort((a, b) => b.wait_ns - a.wait_ns);
}

// hotspotsOf returns the first most operations with more memory than threshold, and their total number.
export function hotspotsOf(rows, view, picked, threshold, most) {
  const found = [];
  let total = 0;
  for (const i of picked) {
    if (rows.kind[i] >= KIND_SPAN || !(rows.memory[i] > threshold)) continue;
    if (++total <= most)
      found.push({
        operation: view.names[rows.name[i]],
        device_id: rows.device[i] === NONE ? "" : view.devices[rows.device[i]].label,
        memory_bytes: rows.memory[i],
        duration_ns: rows.dur[i],
        shapes: view.shapes[rows.shape[i]],
      });
  }
  return { found, total };
}

// stepsOf returns the numbers of the steps of operations.
export function stepsOf(rows, view, picked) {
  const numbers = new Set();
  for (const i of picked) if (rows.step[i] !== NONE) numbers.add(view.steps[rows.step[i]]);
  return numbers;
}

// bucketsIn returns the first and last bucket of a time axis in a range; the axis begins at start.
export function bucketsIn(axis, start, from, to) {
  const number = (t) => Math.max(0, Math.min(axis.buckets, t));
  return [number(Math.floor((from - start) / axis.bucket_ns)), number(Math.ceil((to - start) / axis.bucket_ns))];
}
