import { test } from "node:test";
import assert from "node:assert/strict";
import {
  addQuantiles,
  KIND_HOST,
  KIND_SPAN,
  NONE,
  buildStacks,
  decodeRows,
  deviceParts,
  distance,
  histogramBin,
  isOperation,
  makeLanes,
  ownTimes,
  percentile,
  sameRow,
  selectRows,
  summarise,
  usage,
} from "../rows.js";
import { encode, random, rowsOf } from "./rows.js";

function randomRows(r, n, devices) {
  let t = 0;
  return Array.from({ length: n }, (_, i) => {
    t += r(20);
    const row = {
      start: t,
      dur: r(50),
      name: r(5),
      kind: 1 + r(4),
      device: r(devices),
      parent: i > 0 && r(2) ? r(i) : undefined,
    };
    return row;
  });
}

test("columns read back", () => {
  const list = [
    { start: 0, dur: 2 ** 40 + 3, name: 7, kind: KIND_SPAN, parent: 1 },
    {
      start: 5,
      dur: 127,
      self: 3,
      name: 128,
      kind: 2,
      device: 0,
      stream: 300,
      request: 0,
      shape: 9,
      memory: 0,
      flops: 2 ** 45,
      step: 0,
    },
    { start: 2 ** 42, dur: 0, name: 0, kind: 0, parent: 0 },
    {
      start: 2 ** 42,
      dur: 9,
      self: 11,
      name: 128,
      kind: 2,
      shape: 9,
      parent: 1,
      request: -1,
      launch: 2 ** 42 - 7,
      group: 4,
    },
  ];
  const rows = rowsOf(list);
  assert.deepEqual([...rows.start], [0, 5, 2 ** 42, 2 ** 42]);
  assert.deepEqual([...rows.dur], [2 ** 40 + 3, 127, 0, 9]);
  assert.deepEqual([...rows.self], [2 ** 40 + 3, 3, 0, 11]);
  assert.deepEqual([...rows.parent], [1, NONE, 0, 1]);
  assert.deepEqual([...rows.device], [NONE, 0, NONE, NONE]);
  assert.deepEqual([...rows.request], [NONE, 0, NONE, 0]);
  assert.deepEqual([...rows.stream], [NONE, 300, NONE, NONE]);
  assert.deepEqual([...rows.memory], [NaN, NaN, NaN, NaN]);
  assert.deepEqual([...rows.flops], [NaN, 2 ** 45, NaN, 2 ** 45]);
  assert.deepEqual([...rows.launch], [NaN, NaN, NaN, 2 ** 42 - 7]);
  assert.deepEqual([...rows.group], [NONE, NONE, NONE, 4]);
  assert.throws(() => decodeRows(encode(list).subarray(0, 20), 4), /cut off/);
  assert.throws(() => decodeRows(new Uint8Array([...encode(list), 1]), 4), /do not end/);
});

test("lanes hold every row once and do not overlap", () => {
  const r = random(1);
  for (let n = 0; n < 50; n++) {
    const rows = rowsOf(randomRows(r, n, 1)),
      all = Uint32Array.from({ length: n }, (_, i) => i);
    const { lanes, crowded } = makeLanes(rows, all, 1000);
    assert.equal(crowded, 0);
    assert.deepEqual(
      lanes.flatMap((l) => [...l]).sort((a, b) => a - b),
      [...all],
    );
    for (const lane of lanes)
      for (let k = 1; k < lane.length; k++)
        assert.ok(rows.start[lane[k]] >= rows.start[lane[k - 1]] + rows.dur[lane[k - 1]]);
  }
  const rows = rowsOf([
    { start: 0, dur: 9 },
    { start: 1, dur: 9 },
    { start: 2, dur: 9 },
  ]);
  assert.deepEqual(makeLanes(rows, [0, 1, 2], 2), { lanes: [Uint32Array.of(0), Uint32Array.of(1, 2)], crowded: 1 });
});

test("parts of a device add up to its span", () => {
  const r = random(2);
  for (let n = 1; n < 60; n++) {
    const rows = rowsOf(randomRows(r, n, 1)),
      all = Uint32Array.from({ length: n }, (_, i) => i);
    const got = deviceParts(rows, all);
    assert.equal(got.compute + got.communication + got.memory + got.other + got.idle, got.span);
    // By hand: the winning kind at every nanosecond.
    const want = { compute: 0, communication: 0, memory: 0, other: 0 };
    const end = Math.max(...rows.start.map((s, i) => s + rows.dur[i]));
    for (let t = 0; t < end; t++) {
      const kinds = new Set();
      for (const i of all) if (rows.start[i] <= t && t < rows.start[i] + rows.dur[i]) kinds.add(rows.kind[i]);
      if (kinds.has(1)) want.compute++;
      else if (kinds.has(2)) want.communication++;
      else if (kinds.has(3)) want.memory++;
      else if (kinds.size > 0) want.other++;
    }
    for (const [part, value] of Object.entries(want)) assert.equal(got[part], value, part);
  }
  assert.equal(deviceParts(rowsOf([]), []).span, 0);
});

test("usage is the union, bin by bin, and the sums by kind", () => {
  const rows = rowsOf([
    { start: 0, dur: 10 },
    { start: 5, dur: 10 },
    { start: 30, dur: 10 },
  ]);
  assert.deepEqual([...usage(rows, [0, 1, 2], 0, 40, 4).busy], [1, 0.5, 0, 1]);
  assert.deepEqual([...usage(rows, [0, 1, 2], 10, 20, 1).busy], [0.5]);
  assert.deepEqual([...usage(rows, [0, 1, 2], 0, 40, 4).kinds[1]], [15, 5, 0, 10]);
});

test("a range selects the operations that start in it", () => {
  const rows = rowsOf([
    { start: 0, dur: 100, name: 1 },
    { start: 10, dur: 1, name: 2, device: 3 },
    { start: 20, dur: 1, name: 1, request: 4 },
  ]);
  const pick = (s, m) => [...selectRows(rows, { from: null, to: null, device: null, request: null, ...s }, m)];
  assert.deepEqual(pick({}), [0, 1, 2]);
  assert.deepEqual(pick({ from: 10, to: 20 }), [1]);
  assert.deepEqual(pick({ device: 3 }), [1]);
  assert.deepEqual(pick({ request: 4 }), [2]);
  assert.deepEqual(pick({}, [0, 1, 0]), [0, 2]);
});

test("sums by operation", () => {
  const rows = rowsOf([
    { start: 0, dur: 10, name: 0 },
    { start: 1, dur: 30, name: 1, memory: 8, self: 5, error: 0 },
    { start: 2, dur: 20, name: 0 },
    { start: 3, dur: 500, name: 2, kind: KIND_SPAN },
  ]);
  const [a, b, ...rest] = summarise(rows, [0, 1, 2, 3]).map((g) => addQuantiles(rows, g));
  assert.equal(rest.length, 0);
  assert.deepEqual([a.name, a.count, a.sum, a.mean, a.max, a.share], [0, 2, 30, 15, 20, 0.5]);
  assert.deepEqual([b.name, b.self, b.memory, b.errors, a.errors], [1, 5, 8, 1, 0]);
  const hundred = Array.from({ length: 120 }, (_, i) => i + 1);
  assert.deepEqual([50, 95, 99].map((p) => percentile(hundred, p)), [60, 114, 119]);
  assert.deepEqual([percentile([1, 2, 3, 4], 50), percentile([7], 99)], [2, 7]);
});

test("stacks add up, whatever the parents", () => {
  const r = random(3),
    names = { row: String, device: (d) => "device " + d, known: () => true };
  for (let n = 1; n < 80; n++) {
    const rows = rowsOf(randomRows(r, n, 2)),
      all = Uint32Array.from({ length: n }, (_, i) => i);
    for (const grouping of ["request", "device"]) {
      const root = buildStacks(rows, all, (i) => rows.self[i], grouping, names);
      const check = (node) => {
        let sum = node.self;
        for (const c of node.children.values()) sum += check(c);
        assert.equal(sum, node.total);
        return sum;
      };
      assert.equal(
        check(root),
        rows.self.reduce((a, b) => a + b, 0),
      );
    }
  }
});

test("the operator that launched an operation is above it in its stack", () => {
  const rows = rowsOf([
    { start: 0, dur: 50, name: 0, kind: KIND_HOST },
    { start: 1, dur: 20, name: 1, kind: KIND_HOST, parent: 0 },
    { start: 5, dur: 60, name: 2, device: 0, launcher: 1 },
  ]);
  assert.equal(rows.launcher[2], 1);
  const names = { row: (n) => "op" + n, device: (d) => "device" + d, known: (d) => d !== NONE };
  const root = buildStacks(rows, Uint32Array.of(0, 1, 2), (i) => rows.dur[i], "request", names);
  const frames = [];
  for (let node = root; node !== undefined; node = [...node.children.values()][0]) frames.push(node.name);
  assert.deepEqual(frames, ["all", "op0", "op1", "device0", "op2"]);
  const named = rowsOf([{ start: 5, dur: 60, name: 2, device: 0, maker: 0 }]); // by a name that is no row
  const made = buildStacks(named, Uint32Array.of(0), () => 60, "request", names);
  const chain = [];
  for (let node = made; node !== undefined; node = [...node.children.values()][0]) chain.push(node.name);
  assert.deepEqual(chain, ["all", "op0", "device0", "op2"]);
});

test("a device is in front of the first operation on it, and only operations have values", () => {
  const names = { row: (n) => "op" + n, device: (d) => "device" + d, known: (d) => d !== NONE && d !== 2 };
  const rows = rowsOf([
    { start: 0, dur: 100, name: 0, kind: KIND_SPAN },
    { start: 1, dur: 60, name: 1, device: 0, parent: 0 },
    { start: 2, dur: 40, name: 2, kind: KIND_HOST, parent: 1 },
    { start: 3, dur: 30, name: 3, device: 0, parent: 2 },
    { start: 4, dur: 40, name: 4, device: 1, parent: 2 },
    { start: 5, dur: 7, name: 5, device: 2, parent: 0 },
  ]);
  const root = buildStacks(
    rows,
    Uint32Array.from({ length: rows.n }, (_, i) => i),
    (i) => rows.dur[i],
    "request",
    names,
  );
  const found = [];
  const walk = (node, path) => {
    if (node.self > 0) found.push(path + node.name + " " + node.self);
    for (const c of node.children.values()) walk(c, path + node.name + ";");
  };
  walk(root, "");
  assert.deepEqual(found, [
    "all;op0;device0;op1 60",
    "all;op0;device0;op1;op2;op3 30",
    "all;op0;device0;op1;op2;device1;op4 40",
    "all;op0;op5 7",
  ]);
  assert.deepEqual(
    [...ownTimes(rows)].filter((_, i) => isOperation(rows, i)),
    [0, 30, 40, 7],
  );
});

test("a chain of parents may be as long as the run, and may be a ring", () => {
  const n = 20000,
    names = { row: String, device: String, known: () => true };
  const rows = rowsOf(Array.from({ length: n }, (_, i) => ({ start: i, dur: 1, parent: i > 0 ? i - 1 : undefined })));
  assert.equal(buildStacks(rows, [n - 1], () => 1, "request", names).total, 1);
  const ring = rowsOf([
    { start: 0, dur: 1, parent: 1 },
    { start: 1, dur: 1, parent: 0 },
  ]);
  assert.equal(buildStacks(ring, [0, 1], () => 1, "request", names).total, 2);
});

test("bins of the histogram ascend", () => {
  let last = 0;
  for (let ns = 1; ns < 1e13; ns *= 1.1) {
    const bin = histogramBin(ns);
    assert.ok(bin >= last && bin < 40);
    last = bin;
  }
});

test("a row is found again in other data", () => {
  const names = ["a", "b"],
    before = rowsOf([
      { start: 5, dur: 3, name: 0 },
      { start: 5, dur: 3, name: 1 },
      { start: 9, dur: 1, name: 1 },
    ]);
  const turned = ["b", "a"],
    later = rowsOf([
      { start: 1, dur: 3, name: 0 },
      { start: 1, dur: 3, name: 1 },
      { start: 5, dur: 2, name: 0 },
    ]);
  const find = (i) =>
    sameRow(
      before,
      i,
      later,
      -4,
      (n) => names[n],
      (n) => turned[n],
    );
  assert.equal(find(0), 1);
  assert.equal(find(1), 0);
  assert.equal(find(2), NONE); // another duration
  assert.equal(find(NONE), NONE);
});

test("distances between times that no number holds", () => {
  assert.equal(distance("1795224124978150123", "1795224124978150124"), 1);
  assert.equal(distance("1795224124978150123", "0"), -1795224124978150123);
});

test("the host's view counts where a run has no device", () => {
  const list = [
    { start: 0, dur: 90, self: 30, name: 0, kind: KIND_HOST },
    { start: 10, dur: 60, name: 1, kind: KIND_HOST, parent: 0 },
    { start: 95, dur: 5, name: 2, kind: KIND_SPAN },
  ];
  const rows = rowsOf(list),
    all = [0, 1, 2];
  assert.deepEqual(
    all.filter((i) => isOperation(rows, i)),
    [0, 1],
  );
  assert.deepEqual(
    summarise(rows, all).map((g) => [g.name, g.sum, g.self]),
    [
      [0, 90, 30],
      [1, 60, 60],
    ],
  );
  assert.deepEqual([...usage(rows, all, 0, 100, 2).busy], [1, 0.8]);
  const root = buildStacks(rows, all, (i) => rows.self[i], "device", { row: String, device: () => "host" });
  const below = (node) => [...node.children.values()].map((c) => [c.name, c.total, below(c)]);
  assert.deepEqual(below(root), [["host", 90, [["0", 90, [["1", 60, []]]]]]]);
  const withDevice = rowsOf([...list, { start: 96, dur: 4, name: 3, kind: 1, device: 0 }]);
  assert.deepEqual(
    all.filter((i) => isOperation(withDevice, i)),
    [],
  );
  assert.deepEqual(
    summarise(withDevice, [...all, 3]).map((g) => g.name),
    [3],
  );
});
