// Tests of pages in a real browser, chromium. PAGES names a directory with pages (*.html); CHROMIUM the browser,
// /usr/bin/chromium by default.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const directory = resolve(process.env.PAGES ?? "pages");
const pages = readdirSync(directory).filter((f) => f.endsWith(".html"));
let browser;

before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
});
after(() => browser?.close());

// open opens a page and fails on any message in its console, any request but
// for the page itself, and any violation of its policy.
async function open(file, { width = 1280, height = 900, hash = "", dark = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light" });
  const page = await context.newPage(), faults = [];
  page.on("console", (m) => faults.push("console: " + m.text()));
  page.on("pageerror", (e) => faults.push("error: " + e.message));
  page.on("request", (r) => {
    if (!r.url().startsWith("file://" + directory)) faults.push("request: " + r.url());
  });
  page.on("dialog", (d) => {
    faults.push("dialog: " + d.message());
    d.dismiss();
  });
  await page.goto("file://" + join(directory, file) + hash);
  await page.waitForSelector("html[data-ready]");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.ready), "true");
  await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))); // what is ready is drawn in the next frame
  return { page, done: async () => {
    await context.close();
    assert.deepEqual(faults, []);
  } };
}

// pixels counts the distinct colours of a canvas.
const colours = (page, id) => page.evaluate((id) => {
  const c = document.getElementById(id), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Set();
  for (let i = 0; i < d.length; i += 4) seen.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]);
  return seen.size;
}, id);

for (const file of pages) {
  for (const [width, dark] of [[1280, false], [390, true]]) {
    test(`${file} opens at ${width} pixels, ${dark ? "dark" : "light"}`, async () => {
      const { page, done } = await open(file, { width, dark });
      if (await page.evaluate(() => globalThis.optrace.rows.n > 0)) {
        assert.ok((await colours(page, "timeline")) > 4, "the timeline is empty");
        assert.ok((await colours(page, "flame")) > 4, "the flame graph is empty");
      }
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
      if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${file}-${width}-${dark ? "dark" : "light"}.png`), fullPage: true });
      await done();
    });
  }

  test(`${file}: the page's own sums are the report's`, async () => {
    const { page, done } = await open(file);
    const wrong = await page.evaluate(() => {
      const { view, rows } = globalThis.optrace, sums = new Map(), counts = new Map();
      for (let i = 0; i < rows.n; i++) {
        if (rows.kind[i] >= 6 && !(rows.hostOnly && rows.kind[i] === 7)) continue;
        const name = view.names[rows.name[i]];
        sums.set(name, (sums.get(name) ?? 0) + rows.dur[i]);
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      return view.report.operations.filter((o) => (rows.hostOnly || !o.side) && counts.get(o.operation) === o.count && sums.get(o.operation) !== o.sum_ns).map((o) => o.operation);
    });
    assert.deepEqual(wrong, []);
    // Computed from the selection of everything, the devices' parts agree too.
    const devices = await page.evaluate(() => {
      const p = globalThis.optrace, all = Uint32Array.from({ length: p.rows.n }, (_, i) => i);
      p.devices.update(all, false, 0, p.view.span_ns);
      const own = p.devices.table.given.map((d) => [d.label, d.count, d.span, d.compute, d.communication, d.memory, d.other, d.idle]);
      p.devices.update(all, true, 0, p.view.span_ns);
      const reported = p.devices.table.given.map((d) => [d.label, d.count, d.span, d.compute, d.communication, d.memory, d.other, d.idle]);
      return { own, reported };
    });
    assert.deepEqual(devices.own, devices.reported);
    // So do the figures of launches; a series over time has other columns.
    const launches = await page.evaluate(() => {
      const { launches } = globalThis.optrace;
      const figures = (s) => [s.device, s.stream, s.count, s.free, s.overhead, s.median, s.most, s.waiting, s.deepest, ...s.idle];
      return { own: launches.between(-Infinity, Infinity).map(figures), reported: launches.whole().map(figures), known: globalThis.optrace.view.report.launches?.count ?? 0 };
    });
    assert.deepEqual(launches.own, launches.reported);
    assert.equal(launches.reported.reduce((n, s) => n + s[2], 0), launches.known);
    // The table of requests is visible if engines describe any.
    const engines = await page.evaluate(() => ({
      told: (globalThis.optrace.view.report.engines ?? []).map((e) => String(e.requests)),
      shown: [...document.querySelectorAll("section:not([hidden]) > #engines tbody tr")].map((r) => r.querySelector("td.number").textContent),
    }));
    assert.deepEqual(engines.shown, engines.told);
    await done();
  });
}

const main = pages.includes("quickstart.html") ? "quickstart.html" : pages[0];

test("tables sort, by mouse and by keyboard", async () => {
  const { page, done } = await open(main);
  const column = (n) => page.$$eval(`#operations tbody tr td:nth-child(${n})`, (cells) => cells.map((c) => c.textContent));
  const before = await column(1);
  await page.click("#operations th:nth-child(1) button");
  const sorted = await column(1);
  assert.deepEqual(sorted, [...before].sort((a, b) => (a < b ? -1 : 1)));
  await page.focus("#operations th:nth-child(1) button");
  await page.keyboard.press("Enter");
  assert.deepEqual(await column(1), [...sorted].reverse());
  assert.equal(await page.getAttribute("#operations th:nth-child(1)", "aria-sort"), "descending");
  await done();
});

test("the search marks and counts, and survives a reload through the address", async () => {
  const { page, done } = await open(main);
  const name = await page.evaluate(() => globalThis.optrace.operations.groups[0].label);
  await page.keyboard.press("/");
  await page.keyboard.type(name);
  await page.waitForFunction(() => document.getElementById("selection").textContent.includes("matching"));
  const rows = await page.$$eval("#operations tbody tr td:first-child", (cells) => cells.map((c) => c.textContent));
  assert.ok(rows.length > 0 && rows.every((r) => r.includes(name)), String(rows));
  const hash = await page.evaluate(() => location.hash);
  const second = await open(main, { hash });
  assert.deepEqual(await second.page.$$eval("#operations tbody tr td:first-child", (cells) => cells.map((c) => c.textContent)), rows);
  await second.done();
  await page.fill("#search", "/(/");
  await page.waitForSelector("#search.bad");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.getElementById("selection").textContent === "the whole run");
  await done();
});

test("the timeline zooms, pans, pins and selects", async () => {
  const { page, done } = await open(main);
  const range = () => page.evaluate(() => [globalThis.optrace.timeline.from, globalThis.optrace.timeline.to]);
  const scrolled = await page.evaluate(() => {
    document.getElementById("timeline").scrollIntoView({ block: "center" });
    return scrollY;
  });
  const box = await (await page.$("#timeline")).boundingBox();
  const whole = await range(), y = box.y + 90;
  await page.mouse.move(box.x + box.width / 2, y);
  await page.mouse.wheel(0, 40);
  await page.waitForFunction((y) => scrollY > y, scrolled);
  await page.evaluate((y) => scrollTo(0, y), scrolled);
  assert.deepEqual(await range(), whole, "the plain wheel zooms");
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -800);
  await page.keyboard.up("Control");
  await page.waitForFunction((w) => globalThis.optrace.timeline.to - globalThis.optrace.timeline.from < w, whole[1] - whole[0]);
  const zoomed = await range();
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 - 200, y, { steps: 4 });
  await page.mouse.up();
  assert.ok((await range())[0] > zoomed[0], "dragging to the left does not pan");
  await page.keyboard.press("0");
  await page.waitForFunction((w) => globalThis.optrace.timeline.to === w, whole[1]);
  // A range drives the other sections.
  await page.keyboard.down("Shift");
  await page.mouse.move(box.x + box.width * 0.4, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, y, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await page.waitForFunction(() => document.getElementById("selection").textContent.includes("starting there"));
  const counted = await page.evaluate(() => {
    const { rows, store, operations } = globalThis.optrace, { from, to } = store.state;
    let n = 0;
    for (let i = 0; i < rows.n; i++) if (rows.kind[i] < 6 && rows.start[i] >= from && rows.start[i] < to) n++;
    return [n, operations.groups.reduce((sum, g) => sum + g.count, 0)];
  });
  assert.equal(counted[0], counted[1]);
  // A click on an operation shows its details.
  const at = await page.evaluate(() => {
    const t = globalThis.optrace.timeline, { rows } = globalThis.optrace;
    const g = t.groups.find((g) => g.device !== null), longest = [...g.lanes[0]].sort((a, b) => rows.dur[b] - rows.dur[a])[0];
    t.zoomTo(rows.start[longest], rows.start[longest] + rows.dur[longest], 1);
    return { x: t.xOf(rows.start[longest] + rows.dur[longest] / 2), y: g.y + 8, name: globalThis.optrace.view.names[rows.name[longest]] };
  });
  const now = await (await page.$("#timeline")).boundingBox();
  await page.mouse.click(now.x + at.x, now.y + at.y);
  await page.waitForSelector("#details:not([hidden])");
  assert.ok((await page.textContent("#details h3")).startsWith(at.name.slice(0, 20)));
  await done();
});

test("rows are reached by keys, hits by Enter, and the browser's back button leads back", async () => {
  const { page, done } = await open(main);
  const state = () => page.evaluate(() => {
    const { timeline, rows, view } = globalThis.optrace;
    return { focus: timeline.focus, pinned: timeline.pinned, name: view.names[rows.name[timeline.pinned]], said: document.getElementById("said").textContent };
  });
  await page.focus("#timeline");
  for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  await page.waitForSelector("#details:not([hidden])");
  const first = await state();
  assert.ok(first.focus === first.pinned && first.said.startsWith(first.name.slice(0, 10)), JSON.stringify(first));
  await page.waitForFunction((pin) => location.hash.includes("pin=" + pin), first.pinned);
  await page.keyboard.press("/");
  await page.keyboard.type("matmul");
  await page.waitForFunction(() => document.getElementById("selection").textContent.includes("matching"));
  await page.keyboard.press("Enter");
  const hit = await state();
  assert.equal(hit.name, "matmul");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Shift+Enter");
  assert.deepEqual(await state(), hit);
  assert.match(await page.textContent("#hits"), /^[\d,]+ of [\d,]+$/);
  await page.waitForFunction((pin) => location.hash.includes("pin=" + pin), hit.pinned);
  for (let i = 0; i < 9 && (await state()).pinned !== first.pinned; i++) {
    await page.goBack();
    await page.waitForTimeout(50);
  }
  assert.equal((await state()).pinned, first.pinned);
  // A copied link shows the same zoom, row, order and lanes.
  await page.click("#operations th:nth-child(1) button");
  await page.click(".list summary");
  await page.click("#lanes li:nth-child(2) button:first-child");
  await page.evaluate(() => globalThis.optrace.timeline.move(1e6, 2e6));
  await page.waitForFunction(() => location.hash.includes("zoom=1000000-2000000"));
  const second = await open(main, { hash: await page.evaluate(() => location.hash) });
  const shown = () => {
    const { timeline, operations } = globalThis.optrace;
    return [timeline.from, timeline.to, timeline.pinned, timeline.groups.map((g) => g.folded), operations.table.sort];
  };
  assert.deepEqual(await second.page.evaluate(shown), await page.evaluate(shown));
  await second.done();
  // Esc leaves the field.
  await page.focus("#search");
  await page.keyboard.press("Escape");
  assert.notEqual(await page.evaluate(() => document.activeElement.id), "search");
  await done();
});

test("a phone scrolls the page over the canvases, and every target has 24 pixels", async () => {
  const { page, done } = await open(main, { width: 390 });
  const small = await page.evaluate(() => [...document.querySelectorAll("button, select, input, summary")].filter((e) => e.offsetParent && e.getBoundingClientRect().height < 24).map((e) => e.textContent || e.id));
  assert.deepEqual(small, []);
  assert.deepEqual(await page.$$eval("canvas", (all) => all.map((c) => getComputedStyle(c).touchAction)), ["pan-y", "pan-y"]);
  await done();
});

for (const file of pages) {
  test(`${file} has no fault that axe finds`, async () => {
    for (const [width, dark] of file === main ? [[1280, false], [1280, true], [390, false], [390, true]] : [[1280, false], [390, true]]) {
      const { page, done } = await open(file, { width, dark });
      await page.evaluate(readFileSync(new URL(import.meta.resolve("axe-core")), "utf8"));
      const found = await page.evaluate(async () => (await globalThis.axe.run()).violations.map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 200)} ${v.nodes[0].failureSummary}`));
      assert.deepEqual(found, []);
      await done();
    }
  });
}

test("the saved trace has the operations, as the command reads it", { skip: !process.env.OPTRACE }, async () => {
  const { page, done } = await open(main);
  const saved = page.waitForEvent("download");
  await page.click("#trace");
  const text = execFileSync(process.env.OPTRACE, ["report", "-json", await (await saved).path()]);
  const { count, sum_ns } = JSON.parse(text).total;
  assert.deepEqual({ count, sum_ns }, await page.evaluate(() => {
    const { count, sum_ns } = globalThis.optrace.view.report.total;
    return { count, sum_ns };
  }));
  await done();
});

test("sections without content are absent, the others are listed", async () => {
  const { page, done } = await open(main);
  const listed = await page.$$eval("#nav button", (all) => all.map((b) => b.textContent));
  const visible = await page.$$eval("main h2", (all) => all.filter((h) => h.offsetParent).map((h) => h.textContent));
  assert.deepEqual(listed, visible);
  for (const empty of await page.$$eval("main > section:not([hidden]) > div:last-child", (all) => all.filter((d) => d.id && d.textContent === "").map((d) => d.id))) assert.fail(`${empty} is empty`);
  await done();
});

test("the flame graph zooms in and back", async () => {
  const { page, done } = await open(main);
  await page.locator("#flame").scrollIntoViewIfNeeded();
  const box = await (await page.$("#flame")).boundingBox();
  await page.mouse.click(box.x + 10, box.y + 30);
  await page.waitForFunction(() => document.querySelectorAll("#trail button").length === 2);
  await page.click("#trail button:first-child");
  await page.waitForFunction(() => document.querySelectorAll("#trail button").length === 1);
  await page.selectOption("#stack", "device");
  await page.selectOption("#value", "count");
  const total = await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r([globalThis.optrace.flame.root.total, globalThis.optrace.operations.groups.reduce((n, g) => n + g.count, 0)])))));
  assert.equal(total[0], total[1]);
  await done();
});

// overlaid reports whether the overlays of the timeline change its picture.
const overlaid = (page) => page.evaluate(() => {
  const t = globalThis.optrace.timeline, picture = () => {
    t.surface.drawNow();
    return t.canvas.toDataURL();
  };
  const own = t.paintOverlays, drawn = picture(), again = picture();
  t.paintOverlays = () => {};
  const bare = picture();
  t.paintOverlays = own;
  return drawn === again && drawn !== bare;
});

test("collectives are joined and their wait is hatched", { skip: main !== "quickstart.html" }, async () => {
  const { page, done } = await open(main);
  await page.evaluate(() => {
    const t = globalThis.optrace.timeline, longest = t.overlays.collectives.reduce((a, b) => (b.to - b.from > a.to - a.from ? b : a));
    t.zoomTo(longest.from, longest.to, 0.2);
  });
  assert.ok(await overlaid(page));
  await done();
});

test("links show as flows, and what is shared is listed", { skip: !pages.includes("batch.html") }, async () => {
  const { page, done } = await open("batch.html");
  await page.evaluate(() => { globalThis.optrace.timeline.hover = globalThis.optrace.view.links[0][0]; });
  assert.ok(await overlaid(page));
  await page.click("#requests tbody tr");
  await page.waitForSelector("text=executions for several requests");
  await done();
});

test("a request says what it waited for, and sequences are listed", { skip: !pages.includes("quickstart.html") }, async () => {
  const { page, done } = await open("quickstart.html");
  await page.click("#requests tbody tr");
  await page.waitForSelector("#requests .causes li");
  const sentences = await page.locator("#requests .causes li").allTextContents();
  assert.ok(sentences.some((s) => /^It computed for .* \(.* %\): matmul on cpu:/.test(s)), sentences.join("\n"));
  const drawn = await page.evaluate(() => {
    const { store, view, timeline } = globalThis.optrace;
    const { segments, dur } = view.requests[store.state.request];
    let painted;
    timeline.overlays.paintPath = (_, given) => { painted = given; };
    timeline.surface.paint(document.createElement("canvas").getContext("2d"), 800, 400);
    delete timeline.overlays.paintPath;
    return { isPainted: painted === segments, sum: segments.reduce((ns, s) => ns + s[2], 0), dur };
  });
  assert.deepEqual(drawn, { isPainted: true, sum: drawn.dur, dur: drawn.dur }, "the critical path of the request");
  // A kind dims the others; no figure changes.
  const figures = () => page.evaluate(() => ["devices", "operations", "communication", "selection"].map((id) => document.getElementById(id).textContent));
  const before = await figures();
  await page.click(".legend [data-kind='2']");
  await page.waitForSelector(".legend [data-kind='2'][aria-pressed=true]");
  assert.deepEqual(await figures(), before);
  await page.click(".legend [data-kind='2']");
  const drags = await page.evaluate(() => globalThis.optrace.view.report.critical_path_operations.filter((o) => o.drag_ns > 0).map((o) => o.operation));
  assert.ok(drags.includes("matmul"), drags.join(", "));
  assert.match(await page.locator("#sequences").textContent(), /bias_add → relu/);
  await done();
});

test("a selected range drives every section", { skip: !pages.includes("quickstart.html") }, async () => {
  const { page, done } = await open("quickstart.html");
  const shown = () => page.evaluate(async () => {
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    const { tables } = globalThis.optrace, of = (label) => tables.get(label)?.given ?? [];
    return {
      steps: of("steps").length, collectives: of("collectives").reduce((n, c) => n + c.count, 0), calls: of("communication").reduce((n, c) => n + c.call_count, 0),
      hotspots: of("memory hotspots").length, strips: document.querySelectorAll("#memory svg.strip rect").length,
    };
  });
  const whole = await shown();
  for (const n of Object.values(whole)) assert.ok(n > 0, JSON.stringify(whole));
  await page.evaluate(() => {
    const { store, view } = globalThis.optrace;
    store.set({ from: 0, to: view.span_ns / 4 });
  });
  const quarter = await shown();
  for (const name of ["steps", "collectives", "calls", "strips"]) assert.ok(quarter[name] < whole[name] && (quarter[name] > 0), `${name}: ${quarter[name]} of ${whole[name]}`);
  await page.evaluate(() => globalThis.optrace.store.set({ from: -2, to: -1 }));
  const { steps, hotspots, strips } = await shown();
  assert.deepEqual({ steps, hotspots, strips }, { steps: 0, hotspots: 0, strips: 0 });
  assert.match(await page.textContent("#communication"), /No communication in the selection/);
  await page.keyboard.press("Escape");
  assert.deepEqual(await shown(), whole);
  await done();
});

test("a comparison shows what became slower, and selects it", { skip: !pages.includes("diff.html") }, async () => {
  const { page, done } = await open("diff.html");
  const rows = await page.evaluate(() => globalThis.optrace.diff.given.map((r) => [r.key.operation, r.verdict]));
  assert.deepEqual(rows, [["matmul", "slower"], ["all_reduce", "unchanged"], ["relu", "cannot_tell"]]);
  assert.match(await page.textContent("#diff"), /one run per side/);
  assert.match(await page.getAttribute("#diff svg.interval.slower", "aria-label"), /^\+\d+\.\d\u00a0% to \+\d+\.\d\u00a0%$/);
  await page.click("#diff tbody tr");
  assert.equal(await page.evaluate(() => globalThis.optrace.view.names[globalThis.optrace.store.state.op]), "matmul");
  await done();
});

test("launches follow the selected range, and lead to the timeline", { skip: !pages.includes("async.html") }, async () => {
  const { page, done } = await open("async.html");
  const shown = () => page.evaluate(() => globalThis.optrace.launches.table.given.map((s) => [s.label, s.stream, s.count]));
  const whole = await shown(), half = await page.evaluate(() => {
    const { rows, store, launches } = globalThis.optrace, s = launches.streams[0].rows, cut = rows.start[s[Math.floor(s.length / 2)]];
    store.set({ from: 0, to: cut });
    return s.filter((i) => rows.start[i] < cut && !Number.isNaN(rows.launch[i])).length;
  });
  await page.waitForFunction((n) => globalThis.optrace.launches.table.given[0].count < n, whole[0][2]);
  assert.equal((await shown())[0][2], half);
  // An operation of a stream shows in the timeline, with the flow from its launch.
  await page.click("#launches tbody tr");
  await page.click("#launches tr.opened li button");
  await page.waitForSelector("#details:not([hidden])");
  assert.match(await page.textContent("#details"), /from its launch/);
  assert.ok(await overlaid(page));
  await page.keyboard.press("Escape");
  await page.waitForFunction((n) => globalThis.optrace.launches.table.given[0].count === n, whole[0][2]);
  await done();
});

test("a pinned kernel says how it was launched", { skip: !pages.includes("train.html") }, async () => {
  const { page, done } = await open("train.html");
  await page.evaluate(() => {
    const { view, rows } = globalThis.optrace,
      name = view.names.indexOf("ampere_sgemm_128x64_tn");
    globalThis.optrace.showRow(rows.name.indexOf(name));
  });
  await page.waitForSelector("#details:not([hidden])");
  const text = await page.textContent("#details");
  for (const fact of [/launched by.*aten::addmm/, /launching call.*cudaLaunchKernel/, /call took5\.25/, /grid4 × 2 × 1/, /block128 × 1 × 1/])
    assert.match(text, fact);
  await done();
});

test("a long run is exact: operations as they are, and those of a pixel as their number", { skip: !pages.includes("long.html") }, async () => {
  const { page, done } = await open("long.html");
  const { reported, rows, drawn } = await page.evaluate(() => {
    const { rows, view, timeline } = globalThis.optrace, texts = [];
    const c = timeline.surface.context, own = c.fillText;
    c.fillText = (text) => texts.push(text);
    timeline.surface.drawNow();
    c.fillText = own;
    return { reported: view.report.total.count, rows: rows.n, drawn: texts.filter((t) => t.endsWith(" operations")) };
  });
  assert.equal(rows, reported);
  assert.deepEqual(drawn, Array(4).fill("100,000 operations"));
  // Panning costs less than opening by far, at any zoom.
  const slowest = await page.evaluate(() => {
    const t = globalThis.optrace.timeline, times = [];
    for (const zoom of [1, 10, 100, 1000]) {
      for (let i = 0; i < 20; i++) {
        const width = t.end / zoom, from = ((t.end - width) * i) / 20;
        t.move(from, from + width);
        const at = performance.now();
        t.surface.drawNow();
        times.push(performance.now() - at);
      }
    }
    return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
  });
  assert.ok(slowest < 1000, `${slowest} ms`);
  await done();
});

test("a finding selects its evidence", async () => {
  const { page, done } = await open(main);
  const buttons = await page.$$(".findings button");
  assert.ok(buttons.length > 0);
  for (const b of buttons) {
    const { section, ...what } = JSON.parse(await b.getAttribute("data-select"));
    await b.click();
    if (Object.keys(what).length > 0) await page.waitForFunction(() => location.hash.length > 1);
    const shown = (await b.innerText()).split("\n").at(-1);
    assert.ok(shown === "show in the timeline" || shown === `show ${section.replace("_", " ")}`, shown);
    await page.waitForFunction((id) => {
      const at = document.getElementById(id).getBoundingClientRect();
      return at.top < innerHeight && at.bottom > 0;
    }, section);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.getElementById("selection").textContent === "the whole run");
  }
  const said = await page.evaluate(() => {
    const { view } = globalThis.optrace;
    view.report.headline = { text: ["NVIDIA H100: busy 24 %"] };
    view.findings = [{ text: "The device waits.", evidence: [{ name: "waits", value: 120, unit: "count" }], try: "read the loss later", saved_ns: 5e6, of_ns: 1e7 }];
    view.selections = [{ gain: "at most 5.00 ms (50.0 %)" }];
    globalThis.optrace.cards();
    return ["headline", "findings"].map((id) => document.getElementById(id).innerText.replace(/\s+/g, " ")).join("|");
  });
  assert.equal(said, "NVIDIA H100: busy 24 %|1 The device waits. waits 120 try: read the loss later gain: at most 5.00 ms (50.0 %) show in the timeline");
  await done();
});
