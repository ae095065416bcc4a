// Measures a page in chromium: node page.bench.js PAGE.html prints how long it takes to open, what a frame
// costs while the timeline pans at several zooms, and what a keystroke in the search costs. A page of a million
// operations:
//
//   awk 'BEGIN { for (i = 0; i < 1000000; i++) { d = 1000 + i * 7919 % 9000
//     printf "{\"operation\":\"op%d\",\"device_id\":\"cuda:%d\",\"stream\":7,\"duration_ns\":%d,\"duration_us\":%.3f,\"start_unix_ns\":%d}\n",
//       i % 40, i % 8, d, d / 1000, 1e9 + int(i / 8) * 11000 } }' > ops.jsonl
//   go run ./cmd/optrace report -html ops.html ops.jsonl
import { resolve } from "node:path";
import { chromium } from "playwright-core";

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
page.setDefaultTimeout(300_000);
const session = await page.context().newCDPSession(page);
await session.send("Performance.enable", { timeDomain: "threadTicks" });
// metric returns a figure of the browser; times are of the page's thread, without waiting for a processor.
const metric = async (name) => (await session.send("Performance.getMetrics")).metrics.find((m) => m.name === name).value;
const started = performance.now();
await page.goto("file://" + resolve(process.argv[2]));
await page.waitForSelector("html[data-ready]");
const opened = performance.now() - started, busy = 1000 * (await metric("TaskDuration"));
console.log(`opened: ${opened.toFixed(0)} ms, ${busy.toFixed(0)} ms of the page's thread`);

const line = (name, all) => {
  all.sort((a, b) => a - b);
  const at = (q) => all[Math.min(all.length - 1, Math.floor(q * all.length))].toFixed(1);
  console.log(`${name}: median ${at(0.5)} ms, p95 ${at(0.95)} ms, at most ${at(1)} ms`);
};

for (const zoom of [1, 3, 10, 30, 100, 1000, 10000, 100000]) {
  const busy = [], gaps = [], paints = [];
  for (let i = 0; i < 60; i++) {
    const before = await metric("TaskDuration");
    const { paint, gap } = await page.evaluate(async ({ zoom, i }) => {
      const t = globalThis.optrace.timeline, width = t.end / zoom, from = (t.end - width) * 0.4 + (width * i) / 100, own = t.surface.paint;
      let paint = 0;
      t.surface.paint = (...all) => {
        const at = performance.now();
        own(...all);
        paint += performance.now() - at;
      };
      const frame = () => new Promise((r) => requestAnimationFrame(r)), start = await frame();
      t.move(from, from + width);
      await frame();
      const end = await frame();
      t.surface.paint = own;
      return { paint, gap: (end - start) / 2 };
    }, { zoom, i });
    busy.push(((await metric("TaskDuration")) - before) * 1000);
    paints.push(paint);
    gaps.push(gap);
  }
  line(`zoom ${zoom}: the page's thread`, busy);
  line("  paint", paints);
  line("  from frame to frame", gaps);
}

const times = await page.evaluate(async () => {
  const box = document.getElementById("search"), said = document.getElementById("selection"), keys = [], tables = [];
  const frame = () => new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
  globalThis.optrace.timeline.zoomTo(0, globalThis.optrace.timeline.end);
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
for (const [name, all] of Object.entries(times)) line(name, all);
await browser.close();
