import { test } from "node:test";
import assert from "node:assert/strict";
import { launchFigures, launchStreams } from "../launches.js";
import { random, rowsOf } from "./rows.js";

const whole = { first: 0, last: 100, count: 10 };

test("the figures of a stream are those of docs/analyses.md", () => {
  const rows = rowsOf([
    { start: 20, dur: 80, kind: 3, device: 0, stream: 2, launch: 10 },
    { start: 110, dur: 90, kind: 1, device: 0, stream: 1, launch: 30 },
    { start: 150, dur: 190, kind: 3, device: 0, stream: 2, launch: 55 },
    { start: 205, dur: 95, kind: 1, device: 0, stream: 1, launch: 50 },
    { start: 350, dur: 50, kind: 1, device: 0, stream: 1, launch: 60 },
    { start: 520, dur: 80, kind: 1, device: 0, stream: 1, launch: 500 },
    { start: 530, dur: 5, kind: 1, device: 1 },
  ]);
  const streams = launchStreams(rows, 30_000);
  assert.deepEqual(
    streams.map((s) => [s.device, s.stream]),
    [
      [0, 1],
      [0, 2],
    ],
  );
  const [one, two] = streams.map((s) =>
    launchFigures(rows, s, -Infinity, Infinity, { first: 20, last: 600, count: 58 }),
  );
  assert.deepEqual([one.count, one.free, one.overhead, one.median, one.waiting, one.deepest], [4, 1, 20, 20, 545, 3]);
  assert.deepEqual(one.idle, [120, 50, 5, 0]);
  assert.deepEqual(
    [one.depths[0], one.depths[1], one.depths[4], one.depths[9], one.depths[20], one.depths[48], one.depths[50]],
    [0, 1, 3, 2, 1, 1, 0],
  );
  assert.deepEqual([two.free, two.overhead, two.idle], [1, 10, [0, 0, 50, 0]]);
});

// Figures of a range, counted moment by moment.
function naive(rows, s, from, to, calls) {
  const of = s.rows,
    depths = [],
    sums = { count: 0, early: 0, free: 0, waiting: 0, idle: 0 };
  for (let t = 0; t < whole.last; t++) depths.push(of.filter((i) => rows.launch[i] <= t && t < rows.start[i]).length);
  of.forEach((i, k) => {
    if (rows.start[i] < from || rows.start[i] >= to) return;
    const before = of.slice(0, k).map((j) => rows.start[j] + rows.dur[j]),
      latest = Math.max(-Infinity, ...before),
      early = rows.launch[i] > rows.start[i],
      wait = Math.max(0, rows.start[i] - rows.launch[i] - calls[i]);
    if (before.length > 0 && latest < rows.start[i]) sums.idle += rows.start[i] - latest;
    if (Number.isNaN(wait)) return;
    sums.count++;
    sums.early += early ? 1 : 0;
    sums.waiting += wait;
    const end = (j) => rows.start[j] + rows.dur[j],
      order = (j) => end(j) - end(i) || rows.start[j] - rows.start[i] || j - i,
      held = Array.from({ length: rows.n }, (_, j) => j).some(
        (j) =>
          rows.stream[j] !== rows.stream[i] &&
          end(j) > rows.launch[i] &&
          end(j) <= rows.start[i] &&
          rows.start[i] - end(j) < 4 &&
          order(j) < 0,
      );
    sums.free += !early && latest <= rows.launch[i] && !held ? 1 : 0;
  });
  const a = Math.max(0, from),
    b = Math.min(whole.last, to),
    width = Math.ceil((b - a) / whole.count);
  const over = Array.from({ length: whole.count }, (_, k) =>
    Math.max(0, ...depths.slice(a + k * width, Math.min(a + (k + 1) * width, b))),
  );
  return { ...sums, deepest: Math.max(0, ...depths.slice(a, b)), over };
}

test("the figures of a range add up, and depths are those of every moment", () => {
  const r = random(5);
  for (let n = 1; n < 60; n++) {
    let t = 0;
    const given = Array.from({ length: n }, () => {
        t = Math.min(whole.last - 10, t + r(5));
        return {
          start: t,
          dur: r(9) * r(2),
          device: 0,
          stream: r(3) ? 1 + r(2) : undefined,
          launch: r(4) ? Math.max(0, t + 2 - r(20)) : undefined,
          call: r(2) * r(9),
        };
      }),
      rows = rowsOf(given);
    const cut = 1 + r(whole.last - 1);
    for (const s of launchStreams(rows, 4)) {
      const parts = [
        [-Infinity, cut],
        [cut, Infinity],
        [-Infinity, Infinity],
      ].map(([from, to]) => {
        const got = launchFigures(rows, s, from, to, whole),
          want = naive(
            rows,
            s,
            from,
            to,
            given.map((g) => g.call),
          ),
          idle = got.idle.reduce((a, b) => a + b);
        assert.deepEqual(
          [got.count, got.early, got.free, got.waiting, idle, got.deepest],
          [want.count, want.early, want.free, want.waiting, want.idle, want.deepest],
        );
        assert.deepEqual(got.depths, want.over);
        return got;
      });
      const sum = (f) => f(parts[0]) + f(parts[1]),
        all = parts[2];
      for (const f of [
        (x) => x.count,
        (x) => x.waiting,
        (x) => x.overhead,
        (x) => x.free,
        ...[0, 1, 2, 3].map((k) => (x) => x.idle[k]),
      ])
        assert.equal(sum(f), f(all));
      assert.equal(Math.max(parts[0].deepest, parts[1].deepest), all.deepest);
    }
  }
});
