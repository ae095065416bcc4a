// Prints the stacks of the flame graph of pages, of the whole run: a line of JSON per page, with
// the values of each stack of names, joined by "|".

import { readFileSync } from "node:fs";
import { inflateRawSync } from "node:zlib";
import { NONE, buildStacks, decodeRows, isOperation, ownTimes } from "../../../render/html/web/rows.js";

// contents returns the text of the element of a page with an id.
function contents(page, id) {
  const from = page.indexOf(">", page.indexOf(`id="${id}"`)) + 1;
  return page.slice(from, page.indexOf("</script>", from)).trim();
}

for (const file of process.argv.slice(2)) {
  const page = readFileSync(file, "utf8");
  const view = JSON.parse(contents(page, "view"));
  const rows = decodeRows(new Uint8Array(inflateRawSync(Buffer.from(contents(page, "rows"), "base64"))), view.rows);
  const names = {
    row: (name) => view.names[name], device: (d) => view.devices[d].label, known: (d) => d !== NONE && !view.devices[d].unknown,
  };
  const own = ownTimes(rows), all = Uint32Array.from({ length: rows.n }, (_, i) => i);
  const values = [(i) => (isOperation(rows, i) ? 1 : 0), (i) => own[i], (i) => rows.self[i], (i) => rows.memory[i] || 0, (i) => rows.flops[i] || 0];
  const stacks = {};
  values.forEach((value, k) => {
    const pending = [[buildStacks(rows, all, value, "request", names), ""]];
    while (pending.length > 0) {
      const [node, path] = pending.pop();
      if (node.self > 0) (stacks[path] ??= [0, 0, 0, 0, 0])[k] += node.self;
      for (const c of node.children.values()) pending.push([c, path === "" ? c.name : c.name + "|" + path]);
    }
  });
  console.log(JSON.stringify({ stacks, hostOnly: rows.hostOnly, rows: rows.n }));
}
