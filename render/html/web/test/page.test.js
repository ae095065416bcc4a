import { test } from "node:test";
import assert from "node:assert/strict";
import {
  argumentFacts,
  formatBytes,
  formatCount,
  formatRange,
  formatShare,
  axisLabels,
  formatTime,
  timeTicks,
} from "../units.js";
import { Store, compileSearch, formatState, parseState } from "../state.js";
import { formatOrders, parseOrders, sortRows, tabSeparated } from "../table.js";
import { printable, shorten } from "../dom.js";
import { boxColors } from "../colors.js";
import { layout } from "../flame.js";
import { beginnings, latencyBins } from "../charts.js";
import { laneSums, visibleRows } from "../lanes.js";
import { evidenceText } from "../cards.js";
import { chromeTrace } from "../main.js";
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
        "grid": [50, 4, 1],
        "block": [256, 1, 1],
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
    zoom: "5-9",
    pin: 4,
    lanes: null,
    last: null,
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
    zoom: null,
    pin: null,
    lanes: null,
    last: null,
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

test("the timeline draws each row once: as a box of at least a pixel, or with the others of its pixel", () => {
  const r = random(9);
  for (let n = 1; n < 400; n += 7) {
    let t = 0;
    const rows = rowsOf(
      Array.from({ length: n }, () => {
        t += r(30);
        const row = { start: t, dur: r(30), kind: 1 + r(3) };
        t += row.dur;
        return row;
      }),
    );
    const lane = Uint32Array.from({ length: n }, (_, i) => i),
      { used, sums } = laneSums(rows, lane, (i) => rows.kind[i]);
    for (const [from, to] of [
      [0, t + 1],
      [t / 3, t / 2 + 1],
      [t / 2, t / 2 + 5],
    ]) {
      const width = 100,
        scale = width / (to - from),
        seen = [];
      let calls = 0;
      const box = (i, x0, x1) => {
        assert.ok(x1 - x0 >= 0.999 || x0 < 0 || x1 > width, `a box of ${x1 - x0} pixels`);
        seen.push(i);
        calls++;
      };
      const several = (pixel, k0, k1) => {
        calls++;
        let sum = 0;
        for (let k = k0; k < k1; k++) {
          assert.ok(rows.dur[lane[k]] * scale < 1, "a row of a pixel is hidden");
          assert.ok(
            Math.max(0, Math.floor((rows.start[lane[k]] - from) * scale)) === pixel,
            "a row is in another pixel",
          );
          sum += rows.dur[lane[k]];
          seen.push(lane[k]);
        }
        assert.equal(
          used.reduce((all, u) => all + sums[u][k1] - sums[u][k0], 0),
          sum,
        );
      };
      visibleRows(rows, lane, from, to, width, box, several);
      assert.ok(calls <= 2 * width + 2, `${calls} boxes`);
      const isVisible = (i) => rows.start[i] < to && (rows.start[i] + rows.dur[i] > from || rows.start[i] >= from);
      assert.deepEqual(seen, [...lane].filter(isVisible));
    }
  }
});

test("the texts of an axis differ, and state their common part once", () => {
  const texts = (from, to) => axisLabels(from, to, 6);
  for (let width = 5; width < 1e13; width *= 7) {
    for (const from of [0, width / 3, 3.2e9, 7e12]) {
      const { ticks, text } = texts(from, from + width),
        all = ticks.map((t) => t.text);
      assert.equal(new Set(all).size, all.length, all.join(" "));
      for (const t of all) assert.ok(t.length < 14, t);
      assert.equal(
        text !== "",
        all.every((t) => t.startsWith("+")),
      );
    }
  }
  assert.deepEqual(
    texts(2.21e9, 2.2103e9)
      .ticks.slice(0, 3)
      .map((t) => plain(t.text)),
    ["+0 µs", "+50 µs", "+100 µs"],
  );
  assert.equal(plain(texts(2.21e9, 2.2103e9).text), "2.21000 s");
  assert.deepEqual(texts(0, 3e6).ticks.map((t) => plain(t.text))[1], "0.5 ms");
});

test("cards state evidence with its unit", () => {
  assert.equal(plain(evidenceText({ name: "waits", value: 120, unit: "" })), "waits 120");
  assert.equal(plain(evidenceText({ name: "each", value: 570000, unit: "ns" })), "each 570 µs");
  assert.equal(plain(evidenceText({ name: "rate", value: 8.3, unit: "GiB/s" })), "rate 8.3 GiB/s");
});

test("a Chrome trace has each row once, and an arrow from each launch", () => {
  const rows = rowsOf(
    Array.from({ length: 9999 }, (_, i) =>
      i % 2 === 0 ? { start: 9 * i, dur: 9, kind: 7, thread: 0 } : { start: 9 * i, dur: 4, device: 0, stream: 7, launcher: i - 1, launch: 9 * i - 5 },
    ),
  );
  const view = { origin_ns: "1795224124978150123", names: ["mm"], devices: [{ label: "cuda:0" }], threads: [{ rank: 3, id: 42 }] },
    text = chromeTrace(view, rows).join(""),
    { traceEvents } = JSON.parse(text),
    of = (ph) => traceEvents.filter((e) => e.ph === ph);
  assert.deepEqual(of("M").map((e) => e.args.name), ["host of rank 3", "thread 42", "cuda:0", "stream 7"]);
  assert.deepEqual([of("X").length, of("s").length, of("f").length], [9999, 4999, 4999]);
  assert.ok(text.includes(`"baseTimeNanoseconds":${view.origin_ns},`));
  const args = { "tensor.op.name": "mm", "tensor.op.kind": "compute", "tensor.device.id": "cuda:0", "tensor.stream.id": 7 };
  assert.deepEqual(of("X")[1], { ph: "X", name: "mm", cat: "compute", pid: 2, tid: 7, ts: 0.009, dur: 0.004, args });
  assert.deepEqual(of("s")[0], { ph: "s", id: 1, name: "launch", cat: "launch", pid: 1, tid: 42, ts: 0.004 });
});

test("a histogram of latencies counts each, and marks those above a bound", () => {
  const { bins, least, most } = latencyBins([1, 1, 2, 41, 40], 39),
    sum = (of) => bins.reduce((n, b) => n + of(b), 0);
  assert.deepEqual(
    [least, most, sum((b) => b.count), sum((b) => b.slow), bins[0].count, bins.at(-1).slow],
    [1, 41, 5, 2, 2, 2],
  );
});

test("a rate counts each beginning in its part of the time", () => {
  const parts = beginnings([{ at: 100 }, { at: 100.5 }, { at: 151 }, { at: 199 }], 100, 200);
  assert.deepEqual([parts.length, parts[0], parts[51], parts[99]], [100, 2, 1, 1]);
});

test("orders of tables read back", () => {
  const orders = new Map([
    ["operations", { column: 3, descending: true }],
    ["memory hotspots", { column: 0, descending: false }],
  ]);
  assert.deepEqual(parseOrders(formatOrders(orders)), orders);
  assert.deepEqual(parseOrders(null), new Map());
});
