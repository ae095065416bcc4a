// Rows for tests, written as package html writes them.

import { decodeRows } from "../rows.js";

// random returns a generator of numbers below n, the same on every run.
export function random(seed) {
  return (n) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
  };
}

function leb128(values) {
  const bytes = [];
  for (let v of values) {
    while (v >= 128) {
      bytes.push((v % 128) + 128);
      v = Math.floor(v / 128);
    }
    bytes.push(v);
  }
  return bytes;
}

const zigzag = (v) => (v >= 0 ? 2 * v : -2 * v - 1);

// encode writes rows as package html does.
export function encode(rows) {
  let before = 0;
  const columns = [
    rows.map((r) => {
      const d = r.start - before;
      before = r.start;
      return d;
    }),
    rows.map((r) => r.dur),
    rows.map((r) => zigzag(r.dur - (r.self ?? r.dur))),
    rows.map((r) => r.name ?? 0),
    rows.map((r) => r.kind ?? 1),
    rows.map((r) => (r.device ?? -1) + 1),
    rows.map((r) => (r.stream ?? -1) + 1),
    rows.map((r, i) => (r.parent === undefined ? 0 : 1 + zigzag(i - r.parent))),
    rows.map((r) => (r.request === undefined ? 0 : r.request < 0 ? 1 : r.request + 2)),
    rows.map((r) => r.shape ?? 0),
    rows.map((r) => (r.memory ?? -1) + 1),
    rows.map((r) => (r.flops ?? -1) + 1),
    rows.map((r) => (r.step ?? -1) + 1),
    rows.map((r) => (r.launch === undefined ? 0 : 1 + zigzag(r.start - r.launch))),
    rows.map((r) => r.call ?? 0),
    rows.map((r) => (r.group ?? -1) + 1),
    rows.map((r, i) => (r.launcher === undefined ? 0 : 1 + zigzag(i - r.launcher))),
    rows.map((r) => (r.arguments ?? -1) + 1),
    rows.map((r) => (r.maker ?? -1) + 1),
    rows.map((r) => (r.error ?? -1) + 1),
    rows.map((r) => (r.thread ?? -1) + 1),
  ];
  return Uint8Array.from(columns.flatMap(leb128));
}

export function rowsOf(list) {
  return decodeRows(encode(list), list.length);
}
