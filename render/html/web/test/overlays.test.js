import { test } from "node:test";
import assert from "node:assert/strict";
import { collectivesOf, flowsOf, linksByRow } from "../overlays.js";
import { summarise } from "../rows.js";
import { buildGroups, laneSums } from "../lanes.js";
import { rowsOf } from "./rows.js";

test("collectives are joined across devices, and what is beyond the shortest is wait", () => {
  const rows = rowsOf([
    { start: 0, dur: 10, kind: 2, device: 0, group: 1 },
    { start: 4, dur: 6, kind: 2, device: 1, group: 1 },
    { start: 20, dur: 3, kind: 2, device: 0, group: 3 },
    { start: 30, dur: 5, kind: 1, device: 0 },
  ]);
  assert.deepEqual(collectivesOf(rows), [{ rows: [0, 1], from: 0, to: 10, transfer: 6 }]);
});

test("flows come from the launch on the host, and along links", () => {
  const rows = rowsOf([
    { start: 0, dur: 50, kind: 6 },
    { start: 5, dur: 9, kind: 7, device: 1 },
    { start: 10, dur: 30, kind: 6 },
    { start: 20, dur: 5, kind: 1, device: 0, parent: 1, launch: 8 },
    { start: 26, dur: 5, kind: 1, device: 0, parent: 2, launch: 24 },
    { start: 40, dur: 5, kind: 1, device: 0 },
  ]);
  const links = linksByRow([[2, 0]]);
  assert.deepEqual(flowsOf(rows, links, 3), [{ kind: "launch", from: 1, at: 8, to: 3, end: 20 }]);
  assert.deepEqual(flowsOf(rows, links, 4), [
    { kind: "launch", from: 4, at: 24, to: 4, end: 26 },
    { kind: "link", from: 0, at: 0, to: 2, end: 10 },
  ]);
  assert.deepEqual(flowsOf(rows, links, 0), [{ kind: "link", from: 0, at: 0, to: 2, end: 10 }]);
  assert.deepEqual(flowsOf(rows, links, 5), []);
});

test("the host has lanes of its own and is in no sum", () => {
  const rows = rowsOf([
    { start: 0, dur: 50, kind: 6 },
    { start: 5, dur: 9, kind: 7, device: 1 },
    { start: 20, dur: 5, kind: 1, device: 0, launcher: 1, launch: 7, call: 2 },
    { start: 21, dur: 9, kind: 7, thread: 0 },
    { start: 22, dur: 3, kind: 10, thread: 0 },
  ]);
  const view = { devices: [{ label: "cuda:0" }, { label: "cpu" }], threads: [{ rank: null, id: 42 }] },
    groups = buildGroups(view, rows);
  assert.deepEqual(
    groups.map((g) => g.label + ": " + g.lanes.map((l) => [...l]).join(" / ")),
    ["cuda:0: 2", "thread 42: 3 / 4", "host: cpu: 1 / 2", "requests and spans: 0"],
  );
  const { isLaunches, edges } = groups[2].lanes[1];
  assert.deepEqual([isLaunches, [...edges.starts], [...edges.ends]], [true, [7], [9]]);
  assert.deepEqual(
    [...laneSums(rows, groups[2].lanes[1], () => 1).sums[1]],
    [0, 2],
  );
  assert.deepEqual(
    summarise(rows, [0, 1, 2]).map((g) => g.sum),
    [5],
  );
});
