import { test } from "node:test";
import assert from "node:assert/strict";
import { argumentFacts, formatBytes, formatCount, formatRange, formatShare, formatTime, timeTicks } from "../units.js";
import { Store, compileSearch, formatState, parseState } from "../state.js";
import { sortRows, tabSeparated } from "../table.js";
import { printable, shorten } from "../dom.js";
import { boxColors } from "../colors.js";
import { layout } from "../flame.js";
import { visibleRows } from "../timeline.js";
import { random, rowsOf } from "./rows.js";

const plain = (text) => text.replace(/\u00a0/g, " ");

test("quantities", () => {
  const times = {
    0: "0 ns",
    600: "600 ns",
    999.6: "1.00 µs",
    12345: "12.3 µs",
    999999: "1.00 ms",
    3.51e9: "3.51 s",
    65e9: "1 min 5 s",
    59.95e9: "1 min 0 s",
    7260e9: "2 h 1 min",
    180000e9: "2 d 2 h",
  };
  for (const [ns, want] of Object.entries(times)) assert.equal(plain(formatTime(Number(ns))), want);
  assert.equal(formatTime(null), "–");
  assert.equal(plain(formatTime(-1500)), "−1.50 µs");
  assert.equal(plain(formatBytes(1536)), "1.50 KiB");
  assert.equal(formatCount(1234567), "1,234,567");
  assert.equal(plain(formatShare(0.592)), "59.2 %");
  assert.equal(formatShare(NaN), "–");
});

test("arguments of kernels", () => {
  const facts = (args, call) =>
    argumentFacts(args, call)
      .filter(([, text]) => text !== null)
      .map(([label, text]) => label + ": " + plain(text));
  assert.deepEqual(
    facts(
      {
        grid: [50, 4, 1],
        block: [256, 1, 1],
        "registers per thread": 32,
        "shared memory": 49152,
        "est. achieved occupancy %": 0,
        "graph id": 3,
        "graph node name": "layer 1",
        "tensor.launch.call": "cudaGraphLaunch",
      },
      7000,
    ),
    [
      "launching call: cudaGraphLaunch",
      "call took: 7.00 µs",
      "CUDA graph: 3",
      "captured in: layer 1",
      "grid: 50 × 4 × 1",
      "block: 256 × 1 × 1",
      "registers per thread: 32",
      "shared memory: 48.0 KiB",
      "occupancy: 0 % (estimate)",
    ],
  );
  assert.deepEqual(facts({ grid: "[2,1,1]" }, NaN), ["grid: [2,1,1]"]); // as a text, from another format
  assert.deepEqual(facts({}, 0), []);
});

test("a range that the window has left is not negative", () => {
  assert.equal(plain(formatRange(null, 2e6, 5e6)), "0 ns to 2.00 ms");
  assert.equal(plain(formatRange(1e6, null, 5e6)), "1.00 ms to 5.00 ms");
  assert.equal(plain(formatRange(-3e6, 2e6, 5e6)), "0 ns to 2.00 ms");
  assert.equal(plain(formatRange(4e6, 9e6, 5e6)), "4.00 ms to 5.00 ms");
  assert.equal(formatRange(-3e6, -1e6, 5e6), "a time before all that is here");
  assert.equal(formatRange(6e6, 9e6, 5e6), "a time behind all that is here");
});

test("no quantity shows a thousand of a unit", () => {
  for (let ns = 1; ns < 1e14; ns *= 1.0007) assert.doesNotMatch(plain(formatTime(ns)), /^1000/, String(ns));
});

test("ticks are few and round", () => {
  for (const [from, to] of [
    [0, 3.5e9],
    [123456, 123999],
    [5, 6],
    [0, 1],
  ]) {
    const ticks = timeTicks(from, to, 8);
    assert.ok(ticks.length <= 9, String(ticks));
    for (const t of ticks) assert.ok(t >= from && t <= to);
  }
});

test("state reads back from the fragment", () => {
  const state = {
    from: 12,
    to: 1e9,
    search: "a&b=ü</script>",
    stack: "device",
    value: null,
    theme: "dark",
    op: 0,
    device: 3,
    request: null,
    kind: 2,
    sort: null,
    origin: null,
  };
  assert.deepEqual(parseState("#" + formatState(state)), state);
  assert.deepEqual(parseState("#from=x&op="), {
    from: null,
    to: null,
    search: null,
    stack: null,
    value: null,
    theme: null,
    op: null,
    device: null,
    request: null,
    kind: null,
    sort: null,
    origin: null,
  });
});

test("a store reports changes once", () => {
  const scheduled = [],
    seen = [];
  const store = new Store({ a: 1 }, (f) => scheduled.push(f));
  store.listen((changed) => seen.push([...changed]));
  store.set({ a: 1 });
  assert.equal(scheduled.length, 0);
  store.set({ a: 2 });
  store.set({ b: 3 });
  assert.equal(scheduled.length, 1);
  scheduled[0]();
  assert.deepEqual(seen, [["a", "b"]]);
});

test("search by text and by regexp", () => {
  assert.equal(compileSearch("").matches, null);
  assert.ok(compileSearch("MAT").matches("matmul"));
  assert.ok(compileSearch("/^mat.*l$/").matches("matmul"));
  assert.ok(!compileSearch("/^at/").matches("matmul"));
  assert.ok(compileSearch("(").matches("f(x)"));
  const bad = compileSearch("/(/");
  assert.ok(bad.error && !bad.matches("("));
});

test("sorting keeps unknown values last and equal ones in order", () => {
  const rows = [
    { v: 2, n: 1 },
    { v: null, n: 2 },
    { v: 1, n: 3 },
    { v: 2, n: 4 },
    { v: NaN, n: 5 },
  ];
  const order = (d) => sortRows(rows, { value: (r) => r.v }, d).map((r) => r.n);
  assert.deepEqual(order(false), [3, 1, 4, 2, 5]);
  assert.deepEqual(order(true), [1, 4, 3, 2, 5]);
});

test("tab-separated text is one line per row and no formula", () => {
  const columns = [
    { title: "name", value: (r) => r.name },
    { title: "n", value: (r) => r.n },
  ];
  assert.equal(
    tabSeparated(columns, [
      { name: "a\tb\nc", n: -1 },
      { name: "=cmd()", n: null },
    ]),
    "name\tn\na\ufffdb\ufffdc\t-1\n'=cmd()\t\n",
  );
});

test("texts", () => {
  assert.equal(printable("a\u202eb\u0000c\u2028"), "a\ufffdb\ufffdc\ufffd");
  assert.equal(shorten("abcdefghij", 10), "abcdefghij");
  const cut = shorten("a".repeat(50) + "tail", 20);
  assert.ok(cut.length <= 20 && cut.endsWith("tail") && cut.includes("…"), cut);
});

test("texts on boxes have a contrast of at least 4.5", () => {
  const channel = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  for (let kind = 0; kind < 7; kind++) {
    for (const dark of [false, true]) {
      for (const name of ["a", "b", "c", "d", "e", "f", "g", "matmul", "relu"]) {
        const c = boxColors(kind, name, dark),
          [r, g, b] = c.fill.match(/\d+/g).map((x) => channel(Number(x) / 255));
        const y = 0.2126 * r + 0.7152 * g + 0.0722 * b,
          text = c.text === "#000" ? 0 : 1;
        assert.ok((Math.max(y, text) + 0.05) / (Math.min(y, text) + 0.05) >= 4.5, `${kind} ${name} ${dark} ${c.fill}`);
      }
    }
  }
});

test("the flame graph's boxes lie within their parents", () => {
  const leaf = (name, total) => ({ name, total, children: new Map() });
  const root = {
    name: "all",
    total: 10,
    children: new Map([
      [1, { name: "a", total: 6, children: new Map([[1, leaf("b", 2)]]) }],
      [2, leaf("c", 4)],
    ]),
  };
  const boxes = layout(root, 0.001);
  assert.deepEqual(boxes.map((b) => [b.node.name, b.x, b.width, b.depth]).sort(), [
    ["a", 0, 0.6, 1],
    ["all", 0, 1, 0],
    ["b", 0, 0.2, 2],
    ["c", 0.6, 0.4, 1],
  ]);
  assert.equal(layout(root, 0.5).length, 2);
});

test("the timeline draws all that is a pixel wide, and not more boxes than pixels", () => {
  const r = random(9);
  for (let n = 1; n < 400; n += 7) {
    let t = 0;
    const rows = rowsOf(
      Array.from({ length: n }, () => {
        t += r(30);
        const row = { start: t, dur: r(30) };
        t += row.dur;
        return row;
      }),
    );
    const lane = Uint32Array.from({ length: n }, (_, i) => i);
    for (const [from, to] of [
      [0, t + 1],
      [t / 3, t / 2 + 1],
      [t / 2, t / 2 + 5],
    ]) {
      const width = 100,
        seen = [];
      visibleRows(rows, lane, from, to, width, (i, x0, x1) => seen.push([i, x0, x1]));
      assert.ok(seen.length <= 2 * width + 2, `${seen.length} boxes`);
      const drawn = new Set(seen.map((s) => s[0])),
        scale = width / (to - from);
      for (const i of lane) {
        const end = rows.start[i] + rows.dur[i];
        if (end > from && rows.start[i] < to && rows.dur[i] * scale >= 1)
          assert.ok(drawn.has(i), `row ${i} of ${n} is missing`);
      }
      for (let k = 1; k < seen.length; k++) assert.ok(seen[k][0] > seen[k - 1][0]);
    }
  }
});
