// Tests of the live page in a real browser: OPTRACE names the command. It is started here,
// sent spans, stopped and started again.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

let browser;
const children = new Set(); // servers that a failed test leaves
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
});
after(() => {
  for (const child of children) child.kill();
  return browser?.close();
});

// serve starts a server; addresses maps printed names to addresses.
async function serve(listen = "127.0.0.1:0") {
  const child = spawn(process.env.OPTRACE ?? "optrace", ["serve", "-window", "500", "-listen", listen, "-otlp-http", "127.0.0.1:0", "-otlp-grpc", "-"], { stdio: ["ignore", "pipe", "inherit"] });
  children.add(child);
  const addresses = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const [name, address] = line.split(/\s+/);
    addresses[name] = address;
    if (name === "OTLP/HTTP") break;
  }
  return { addresses, stop: async () => {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    assert.deepEqual((await ended)[0], 0);
  } };
}

const START = 1795224124978150123n;
let sent = 0;

// post sends operations of a name to a server, each a millisecond after the one before, and each a step if so given.
async function post(server, name, count = 1, duration = 400_000, isStep = false) {
  const id = (n, digits) => n.toString(16).padStart(digits, "0");
  const spans = Array.from({ length: count }, () => {
    const start = START + BigInt(++sent) * 1_000_000n;
    return { traceId: id(1, 32), spanId: id(sent, 16), name, startTimeUnixNano: String(start), endTimeUnixNano: String(start + BigInt(duration)),
      attributes: [{ key: "tensor.op.name", value: { stringValue: name } }, { key: "tensor.device.id", value: { stringValue: "cuda:0" } }, ...(isStep ? [{ key: "tensor.step", value: { intValue: sent >> 1 } }] : [])] };
  });
  const answer = await fetch(server.addresses["OTLP/HTTP"], { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }) });
  assert.equal(answer.status, 200);
  assert.deepEqual(await answer.json(), {});
}

async function open(address, hash = "") {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage(), faults = [];
  page.on("console", (m) => faults.push("console: " + m.text()));
  page.on("pageerror", (e) => faults.push("error: " + e.message));
  page.on("request", (r) => {
    if (!r.url().startsWith(address)) faults.push("request: " + r.url());
  });
  await page.goto(address + hash);
  await page.waitForSelector("html[data-ready=true]");
  return { page, faults, close: () => context.close() };
}

const shows = (page, name, timeout) => page.waitForFunction((n) => [...document.querySelectorAll("#operations tbody tr td:first-child")].some((c) => c.textContent === n), name, { timeout });
const rows = (page) => page.evaluate(() => globalThis.optrace.rows.n);

test("operations show within two seconds, and what is chosen stays", async () => {
  const server = await serve();
  const { page, faults, close } = await open(server.addresses.page);
  assert.equal(await page.textContent("#sentence"), "0 operations in 0 spans on 0 devices; nothing lost.");
  await post(server, "matmul", 30);
  await shows(page, "matmul", 2000);
  await post(server, "relu", 10);
  await shows(page, "relu", 2000);
  await page.waitForFunction(() => document.getElementById("live").textContent === "live");

  // An operation is chosen and opened, a range selected, a row pinned, the page scrolled.
  await page.click("#operations tbody tr td:has-text('relu')");
  await page.waitForSelector("#operations tr.opened");
  const before = await page.evaluate(async () => {
    const frames = () => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
    const p = globalThis.optrace, i = p.rows.n - 3;
    p.timeline.zoomTo(p.rows.start[i - 8], p.rows.start[i + 1]);
    p.timeline.pin(i);
    p.store.set({ from: p.rows.start[5], to: p.rows.start[p.rows.n - 1] + 1 });
    await frames();
    scrollTo(0, 300);
    await frames();
    const at = (t) => String(BigInt(p.view.origin_ns) + BigInt(Math.round(t)));
    return { scroll: scrollY, from: at(p.rows.start[5]), left: at(p.timeline.from), pinned: at(p.rows.start[i]) };
  });
  // 600 more: the first ones fall out of the window, and times and numbers change.
  const matmuls = await rows(page);
  await post(server, "another", 200);
  await shows(page, "another", 2000).catch(() => {}); // below the range that is selected
  await page.waitForFunction((n) => globalThis.optrace.rows.n > n, matmuls, { timeout: 2000 });
  const after = await page.evaluate(() => {
    const p = globalThis.optrace, at = (t) => String(BigInt(p.view.origin_ns) + BigInt(Math.round(t)));
    return { scroll: scrollY, from: at(p.store.state.from), left: at(p.timeline.from), pinned: at(p.rows.start[p.timeline.pinned]), op: p.view.names[p.store.state.op], open: p.operations.table.open };
  });
  assert.deepEqual(after, { ...before, op: "relu", open: "relu" });
  const hash = await page.evaluate(() => location.hash);
  assert.match(hash, /op=relu/);
  await post(server, "another", 600);
  await page.waitForFunction(() => document.getElementById("chips").textContent.includes("fell out of the window"), null, { timeout: 5000 });
  assert.ok((await rows(page)) <= 500);
  // The selected range has left the window; its description has no negative time.
  assert.match(await page.textContent("#selection"), /^a time before all that is here: 0 operations/);
  assert.ok(!(await page.evaluate(() => document.body.innerText)).includes("\u2212"), "a negative time is shown");

  // A copied link shows the same.
  await post(server, "relu", 5);
  const second = await open(server.addresses.page, hash);
  await second.page.waitForFunction(() => globalThis.optrace.view.names[globalThis.optrace.store.state.op] === "relu", null, { timeout: 5000 });
  assert.deepEqual(second.faults, []);
  await second.close();
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, "live.png"), fullPage: true });

  assert.deepEqual(faults, []);
  await server.stop();
  await page.waitForFunction(() => document.getElementById("live").textContent.startsWith("The server does not answer"), null, { timeout: 5000 });
  assert.ok((await rows(page)) > 0, "the page does not show what it had");
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, "live-stopped.png") });

  // Back after a restart.
  const again = await serve(new URL(server.addresses.page).host);
  await post(again, "softmax", 3);
  await page.waitForFunction(() => document.getElementById("live").textContent === "live", null, { timeout: 5000 });
  await page.keyboard.press("Escape");
  await shows(page, "softmax", 5000);
  assert.deepEqual(faults.filter((f) => !f.includes("ERR_CONNECTION_REFUSED")), []);
  await close();
  await again.stop();
});

test("the reader pauses, goes on, and follows the last seconds", async () => {
  const server = await serve();
  const { page, faults, close } = await open(server.addresses.page);
  await post(server, "matmul", 20);
  await shows(page, "matmul", 5000);
  await page.click("#pause");
  await post(server, "relu", 20);
  await page.evaluate(() => globalThis.optrace.poll());
  assert.equal(await rows(page), 20, "a paused page changes");
  await page.click("#pause");
  await shows(page, "relu", 5000);
  await page.selectOption("#range", "5");
  sent += 60_000; // a minute later
  await post(server, "softmax", 20);
  await shows(page, "softmax", 5000);
  await page.waitForFunction(() => globalThis.optrace.operations.table.given.length === 1);
  const { from, to, span, height } = await page.evaluate(() => {
    const { timeline, view } = globalThis.optrace;
    return { from: timeline.from, to: timeline.to, span: view.span_ns, height: document.getElementById("findings").offsetHeight };
  });
  assert.deepEqual([from, to], [span - 5e9, span]);
  await page.evaluate(() => { globalThis.optrace.view.findings = []; globalThis.optrace.cards(); });
  assert.ok(await page.evaluate((h) => document.getElementById("findings").offsetHeight >= h, height), "the page jumps as findings go");
  // Requests and steps come: the page grows, and what is under the pointer stays there.
  const slowest = page.locator("section:has(> #slowest)");
  await slowest.scrollIntoViewIfNeeded();
  await page.locator("#slowest tbody tr").first().hover();
  const before = await slowest.evaluate((e) => [e.getBoundingClientRect().top, document.body.scrollHeight]);
  await post(server, "step", 40, 400_000, true);
  await page.waitForSelector("#steps svg.strip");
  await post(server, "other", 3);
  await shows(page, "other", 5000);
  const after = await slowest.evaluate((e) => [e.getBoundingClientRect().top, document.body.scrollHeight]);
  assert.ok(after[1] > before[1] + 100 && Math.abs(after[0] - before[0]) <= 1, `${before} became ${after}`);
  assert.match((await page.locator("#steps h3").allTextContents()).join("; "), /^steps: 21, p50 2\.00.ms, p95 2\.00.ms; over time; 4\.20 a second began, at most 21 in 50\.0.ms$/);
  await page.evaluate(readFileSync(new URL(import.meta.resolve("axe-core")), "utf8"));
  assert.deepEqual(await page.evaluate(async () => (await globalThis.axe.run()).violations.map((v) => `${v.id}: ${v.nodes[0].html}`)), []);
  const second = await open(server.addresses.page, await page.evaluate(() => location.hash));
  assert.equal(await second.page.inputValue("#range"), "5");
  await second.close();
  await page.selectOption("#range", "");
  await page.waitForFunction(() => globalThis.optrace.operations.table.given.length === 5);
  assert.deepEqual(faults, []);
  await close();
  await server.stop();
});

test("the trace goes to Perfetto when its button is pressed", async () => {
  const server = await serve();
  await post(server, "matmul", 4);
  const context = await browser.newContext();
  // A stand-in for the page at ui.perfetto.dev with its documented answers.
  await context.route("https://ui.perfetto.dev/**", (route) => route.fulfill({ contentType: "text/html", body: `<script>
    addEventListener("message", (e) => {
      if (e.data === "PING") e.source.postMessage("PONG", e.origin);
      else if (e.data.perfetto) document.title = e.data.perfetto.title + "|" + new TextDecoder().decode(e.data.perfetto.buffer);
    });
  </script>` }));
  const page = await context.newPage();
  await page.goto(server.addresses.page);
  await page.waitForSelector("html[data-ready=true]");
  const [tab] = await Promise.all([context.waitForEvent("page"), page.click("#perfetto")]);
  await tab.waitForFunction(() => document.title.includes("|"));
  const [title, text] = (await tab.title()).split("|");
  assert.match(title, /optrace$/);
  assert.equal(JSON.parse(text).traceEvents.filter((e) => e.name === "matmul").length, 4);
  await context.close();
  await server.stop();
});
