import assert from "node:assert/strict";
import test from "node:test";

import { sequenceText } from "../sequences.js";

test("a sequence names an operation that follows itself once", () => {
  assert.equal(sequenceText(["a", "b", "b", "b", "a"]), "a → b ×3 → a");
  assert.equal(sequenceText(["a", "a"]), "a ×2");
  assert.equal(sequenceText([]), "");
});

test("names in a sequence are shortened", () => {
  const text = sequenceText(["x".repeat(100), "relu"]);
  assert.ok(text.length < 60 && text.endsWith(" → relu"), text);
});
