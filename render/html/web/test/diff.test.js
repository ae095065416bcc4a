import { test } from "node:test";
import assert from "node:assert/strict";
import { bounds, intervalScale, keyLabel } from "../diff.js";
import { formatChange } from "../units.js";

const row = (low, delta, high, verdict = "slower") => ({
  verdict,
  delta,
  delta_low: low,
  delta_high: high,
});

test("changes have a sign", () => {
  const plain = (x) => formatChange(x).replace(/\u00a0/g, " ");
  assert.deepEqual([0.1, -0.25, 0, null].map(plain), ["+10.0 %", "−25.0 %", "+0.0 %", "–"]);
});

test("rows are named by the values of their keys", () => {
  assert.equal(keyLabel({ key: { operation: "matmul", rank: 3 } }), "matmul, 3");
  assert.equal(keyLabel({ key: { operation: "matmul", device: null }, side: "host" }), "matmul, unknown (host)");
});

test("bounds are parts of the base", () => {
  const b = bounds(row(-0.5, 0.1, 0.25));
  for (const [name, want] of Object.entries({ low: -0.5, estimate: 0.1, high: 0.25 }))
    assert.ok(Math.abs(b[name] - want) < 1e-12, name);
});

test("the scale holds nine in ten of the intervals", () => {
  const rows = Array.from({ length: 9 }, (_, i) => row(-0.01 * i, 0, 0.02));
  assert.ok(Math.abs(intervalScale([...rows, row(-0.1, 5, 9)]) - 0.08) < 1e-9);
  assert.equal(intervalScale([]), 0.01);
  assert.equal(
    intervalScale([
      { verdict: "too_few", delta: 3, delta_low: 2, delta_high: 4 },
      { verdict: "added", delta: null },
    ]),
    0.01,
  );
});
