import { test } from "node:test";
import assert from "node:assert/strict";
import { errorsOf } from "../errors.js";
import { failedAt } from "../timeline.js";
import { KIND_FAILED, boxColors } from "../colors.js";
import { rowsOf } from "./rows.js";

const rows = rowsOf([
  { start: 0, dur: 100, name: 0, kind: 6, error: 1 },
  { start: 10, dur: 5, name: 1, kind: 1, device: 0, error: 0 },
  { start: 20, dur: 5, name: 1, kind: 1, device: 0 },
  { start: 30, dur: 8, name: 1, kind: 1, device: 0, error: 0 },
]);
const view = { names: ["POST /predict", "matmul"], errors: ["out of memory", ""] };

test("errors are counted by text and name, those of spans apart", () => {
  assert.deepEqual(errorsOf(rows, view, [0, 1, 2, 3]), [
    { text: "out of memory", name: "matmul", span: false, count: 2, first: 1 },
    { text: "(no text)", name: "POST /predict", span: true, count: 1, first: 0 },
  ]);
  assert.deepEqual(errorsOf(rows, view, [2]), []);
});

test("failed rows are marked where they end, once in each part", () => {
  assert.deepEqual([...failedAt(rows, 100, 10)], [1, 0.1, 0.3]);
});

test("failed rows are red, whatever their name", () => {
  for (const dark of [false, true])
    for (const name of ["matmul", "relu", "copy"]) {
      const [r, g, b] = boxColors(KIND_FAILED, name, dark).fill.match(/\d+/g).map(Number);
      assert.ok(r > 150 && g < 100 && b < 100, `${r} ${g} ${b}`);
    }
});
