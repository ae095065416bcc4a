// Measures what a keystroke in the search of a page costs: node search.bench.js PAGE.html prints, in
// milliseconds, the median and the largest time from a key to the next frame, and the same of the tables
// that follow. A page of a million operations:
//
//   go run ./cmd/optrace report -html ops.html $(go run -C bench ./workload/gen -ops 1000000 -kind g1)
import { resolve } from "node:path";
import { chromium } from "playwright-core";

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
await page.goto("file://" + resolve(process.argv[2]));
await page.waitForSelector("html[data-ready]");
const times = await page.evaluate(async () => {
  const box = document.getElementById("search"), said = document.getElementById("selection"), keys = [], tables = [];
  const frame = () => new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
  for (const text of ["m", "ma", "mat", "matm", "matmu", "matmul", "c", "co", "con", "conv", "/b.*n/", ""]) {
    await frame();
    const start = performance.now(), before = said.textContent;
    box.value = text;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    await frame();
    keys.push(performance.now() - start);
    while (said.textContent === before && performance.now() < start + 2000) await frame();
    await frame();
    tables.push(performance.now() - start);
  }
  return { keys, tables };
});
for (const [name, all] of Object.entries(times)) {
  all.sort((a, b) => a - b);
  console.log(`${name}: median ${all[all.length >> 1].toFixed(0)} ms, at most ${all.at(-1).toFixed(0)} ms`);
}
await browser.close();
