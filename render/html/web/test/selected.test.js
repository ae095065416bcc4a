import { test } from "node:test";
import assert from "node:assert/strict";
import { bucketsIn, collectivesIn, communicatingOf, hotspotsOf, stepsOf } from "../selected.js";
import { collectivesOf } from "../overlays.js";
import { selectRows } from "../rows.js";
import { rowsOf } from "./rows.js";

const names = ["matmul", "all_reduce", "request"];
const all = () =>
  rowsOf(
    [
      { start: 0, dur: 100, kind: 1, name: 0, device: 0, memory: 4096, step: 0 },
      { start: 100, dur: 40, kind: 2, name: 1, device: 0, group: 0, memory: 1, step: 0 },
      { start: 110, dur: 30, kind: 2, name: 1, device: 1, group: 0, memory: 1, step: 0 },
      { start: 300, dur: 50, kind: 2, name: 1, device: 0, group: 1, memory: 8192, step: 1 },
      { start: 320, dur: 30, kind: 2, name: 1, device: 1, group: 1, memory: 1, step: 1 },
      { start: 0, dur: 400, kind: 6, name: 2 },
    ].sort((a, b) => a.start - b.start),
  );
const within = (rows, from, to) => selectRows(rows, { from, to }, null);

test("communication in a range is that of the operations that start in it", () => {
  const rows = all();
  const r = communicatingOf(rows, names, within(rows, 100, 400));
  assert.deepEqual(
    r.map((x) => [x.operation, x.call_count, x.sum_ns, x.ratio_of_total]),
    [["all_reduce", 4, 150, 1]],
  );
  assert.deepEqual(communicatingOf(rows, names, within(rows, 0, 100)), []);
  assert.equal(communicatingOf(rows, names, within(rows, null, null))[0].ratio_of_total, 150 / 250);
});

test("collectives count where the first of their devices starts", () => {
  const rows = all(),
    collectives = collectivesOf(rows);
  const figures = (from, to) =>
    collectivesIn(rows, names, collectives, from, to).map((c) => [
      c.name,
      c.count,
      c.transfer_ns,
      c.wait_ns,
      c.max_start_skew_ns,
    ]);
  assert.deepEqual(figures(-Infinity, Infinity), [["all_reduce", 2, 60, 30, 20]]);
  assert.deepEqual(figures(105, 301), [["all_reduce", 1, 30, 20, 20]]);
  assert.deepEqual(figures(0, 100), []);
});

test("hotspots are the first above the threshold, and counted", () => {
  const rows = all(),
    view = { names, devices: [{ label: "cuda:0" }, { label: "cuda:1" }], shapes: [""] };
  const one = hotspotsOf(rows, view, within(rows, null, null), 1000, 1);
  assert.equal(one.total, 2);
  assert.deepEqual(
    one.found.map((h) => [h.operation, h.device_id, h.memory_bytes, h.duration_ns]),
    [["matmul", "cuda:0", 4096, 100]],
  );
  assert.deepEqual(hotspotsOf(rows, view, within(rows, 100, 200), 1000, 10), { found: [], total: 0 });
});

test("steps are those of the operations", () => {
  const rows = all();
  assert.deepEqual([...stepsOf(rows, { steps: [7, 8] }, within(rows, 300, 400))], [8]);
  assert.deepEqual([...stepsOf(rows, { steps: [7, 8] }, within(rows, null, null))].sort(), [7, 8]);
});

test("buckets are those that a range touches", () => {
  const axis = { bucket_ns: 10, buckets: 5 };
  assert.deepEqual(bucketsIn(axis, 100, -Infinity, Infinity), [0, 5]);
  assert.deepEqual(bucketsIn(axis, 100, 115, 120), [1, 2]);
  assert.deepEqual(bucketsIn(axis, 100, 0, 50), [0, 0]);
});
