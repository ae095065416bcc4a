// The page: reads its embedded data and connects the sections.

import {
  KINDS,
  KIND_SPAN,
  NONE,
  aboveOf,
  decodeRows,
  distance,
  isOperation,
  lowerBound,
  ownTimes,
  selectRows,
} from "./rows.js";
import { Store, compileSearch, formatState, parseState } from "./state.js";
import { element, printable, push, pushLink, shorten, shortNames, show } from "./dom.js";
import { FlameGraph } from "./flame.js";
import { Timeline } from "./timeline.js";
import { Operations } from "./operations.js";
import { Devices } from "./devices.js";
import { Requests } from "./requests.js";
import { communication } from "./communication.js";
import { memory } from "./memory.js";
import { engines, phases, steps } from "./steps.js";
import { Launches } from "./launches.js";
import { errorText, errors } from "./errors.js";
import { sequences } from "./sequences.js";
import { difference } from "./diff.js";
import { presence, reportTables } from "./report.js";
import { cards } from "./cards.js";
import { launcherOf } from "./lanes.js";
import { Table, formatOrders, parseOrders } from "./table.js";
import {
  argumentFacts,
  formatBytes,
  formatCount,
  formatRange,
  formatRate,
  formatShare,
  formatTime,
  plural,
} from "./units.js";

export const byID = (id) => document.getElementById(id);

// fromBase64 decodes base64 where the browser has no method for it.
function fromBase64(text) {
  const binary = atob(text),
    bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// inflate returns the bytes of compressed text in base64.
export async function inflate(text) {
  const bytes = Uint8Array.fromBase64?.(text) ?? fromBase64(text);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const VALUES = {
  time: { title: "self time", format: formatTime, of: (rows) => (i) => rows.self[i] },
  total: {
    title: "duration",
    format: formatTime,
    of: (rows) => {
      const own = (rows.own ??= ownTimes(rows));
      return (i) => own[i];
    },
  },
  bytes: { title: "bytes", format: formatBytes, of: (rows) => (i) => (rows.memory[i] >= 0 ? rows.memory[i] : 0) },
  flops: {
    title: "FLOPs",
    format: (n) => formatRate(n, "FLOP"),
    of: (rows) => (i) => (rows.flops[i] >= 0 ? rows.flops[i] : 0),
  },
  count: { title: "count", format: formatCount, of: (rows) => (i) => (isOperation(rows, i) ? 1 : 0) },
};

// TYPING is for how long, in milliseconds, no key is pressed in the search until the tables follow; the
// charts follow at once.
const TYPING = 120;

// LASTING is for how long, in milliseconds, a zoom rests until the address has it. Changes of the fields STEPS are steps
// of the browser's history.
const LASTING = 250,
  STEPS = ["from", "to", "op", "device", "request", "zoom", "pin"];

export class Page {
  constructor(view, rows) {
    this.view = view;
    this.rows = rows;
    this.nameInShort(view);
    this.tables = new Map();
    this.legend = document.querySelectorAll(".legend [data-kind]");
    this.touched = new Set();
    this.store = new Store(this.parse(location.hash), (f) => requestAnimationFrame(f));
    this.readOrders();
    Table.keep = () => this.store.set({ sort: formatOrders(Table.orders) });
  }

  readOrders() {
    Table.orders = parseOrders(this.store.state.sort);
  }

  nameInShort(view) {
    for (const [name, short] of Object.entries(view.short ?? {})) shortNames.set(name, short);
  }

  // parse and format read and write the state in the address of the page.
  parse(fragment) {
    return parseState(fragment);
  }

  format(state) {
    return formatState(state);
  }

  start() {
    const { view, rows, store } = this;
    this.tip = byID("tip");
    this.theme();
    this.head();
    this.cards();
    this.timeline = new Timeline(
      view,
      rows,
      store,
      byID("timeline"),
      (row, e, several) => this.tooltipRow(row, e, several),
      (row) => this.details(row),
    );
    this.flame = new FlameGraph(
      rows,
      store,
      byID("flame"),
      {
        row: (name) => view.names[name],
        device: (d) => (d === NONE ? "no device" : view.devices[d].label),
        known: (d) => d !== NONE && !view.devices[d].unknown,
      },
      (node, e) => this.tooltipNode(node, e),
      (node) => this.trail(node),
    );
    this.operations = new Operations(this, byID("operations"));
    this.devices = new Devices(this, byID("devices"));
    this.launches = new Launches(this, byID("launches"));
    this.requests = new Requests(this, byID("requests"));
    this.diff = difference(this, byID("diff"));
    store.listen((changed) => this.update(changed));
    window.addEventListener("hashchange", () => this.restore());
    document.addEventListener("keydown", (e) => this.key(e));
    window.addEventListener("resize", () => this.below());
    reportTables(this);
    const s = { ...store.state };
    this.update(new Set(["from", "search", "stack", "op", "device", "request"]));
    if (s.from !== null || s.to !== null) this.timeline.zoomTo(s.from ?? 0, s.to ?? view.span_ns, 0.1);
    this.apply(s);
    document.documentElement.dataset.ready = "true";
  }

  // apply zooms and pins as a state says.
  apply(s) {
    const [from, to] = (s.zoom ?? "").split("-").map(Number);
    if (to > from) this.timeline.move(from, to);
    if (s.pin !== null && s.pin < this.rows.n) this.timeline.pin(s.pin);
  }

  // restore shows the state in the address, after a step back or forward.
  restore() {
    const s = this.parse(location.hash),
      before = this.store.state;
    if (this.format(before) === location.hash.slice(1)) return;
    this.store.set(s);
    byID("search").value = s.search ?? "";
    this.readOrders();
    for (const t of this.tables.values()) t.reorder();
    if (s.zoom === null) this.timeline.move(0, Math.max(1, this.view.span_ns));
    if (s.pin === null) this.timeline.pin(NONE);
    this.apply(s);
    this.timeline.applyLanes();
  }

  // remember puts the state into the address: as a step that the browser's back button undoes, or in place of the last.
  remember(changed) {
    for (const f of changed) this.touched.add(f);
    const write = () => {
      const fragment = this.format(this.store.state),
        isStep = STEPS.some((f) => this.touched.has(f)) && this.isReady;
      this.touched.clear();
      this.isReady = true;
      if (location.hash.slice(1) !== fragment) history[isStep ? "pushState" : "replaceState"](null, "", "#" + fragment);
    };
    clearTimeout(this.writing);
    if ([...changed].every((f) => f === "zoom")) this.writing = setTimeout(write, LASTING);
    else write();
  }

  cards() {
    cards(this.view, byID("headline"), byID("findings"), presence(this.view, this.rows));
  }

  // sections hides the sections without content, and lists the others.
  sections() {
    const names = [];
    for (const [id, isThere] of Object.entries(presence(this.view, this.rows))) {
      const section = byID(id).closest("section");
      section.hidden = !isThere;
    }
    for (const h of document.querySelectorAll("main > section:not([hidden]) > h2")) names.push(h);
    const kinds = new Set(this.rows.kind);
    for (const b of this.legend) b.hidden = !kinds.has(Number(b.dataset.kind));
    const { rows, view } = this,
      marks = {
        group: rows.group.some((g) => g !== NONE),
        launch: rows.launch.some((at) => at >= 0),
        link: view.links.length > 0,
        request: view.requests_total > 0,
        error: rows.error.some((e) => e !== NONE),
      };
    for (const m of document.querySelectorAll(".legend [data-mark]")) m.hidden = !marks[m.dataset.mark];
    const text = names.map((h) => h.textContent).join();
    if (this.listed === text) return;
    this.listed = text;
    const go = (h) => () => h.scrollIntoView({ block: "start" });
    show(byID("nav"), ...names.map((h) => push(h.textContent, go(h))));
    this.below();
  }

  // below tells the style how high the head is.
  below() {
    const head = document.querySelector("header");
    const height = getComputedStyle(head).position === "sticky" ? head.offsetHeight : 0;
    document.documentElement.style.setProperty("--under", height + "px");
  }

  theme() {
    const wanted = this.store.state.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    document.documentElement.dataset.theme = wanted === "dark" ? "dark" : "light";
  }

  head() {
    const { store } = this,
      s = store.state;
    const search = byID("search"),
      stack = byID("stack"),
      value = byID("value");
    search.value = s.search ?? "";
    search.addEventListener("input", () => store.set({ search: search.value || null }));
    stack.value = s.stack ?? "request";
    if (stack.selectedIndex < 0) stack.value = "request";
    stack.addEventListener("change", () => store.set({ stack: stack.value }));
    value.value = s.value ?? "time";
    if (value.selectedIndex < 0) value.value = "time";
    value.addEventListener("change", () => store.set({ value: value.value }));
    byID("theme").addEventListener("click", () =>
      store.set({ theme: document.documentElement.dataset.theme === "dark" ? "light" : "dark" }),
    );
    byID("reset").addEventListener("click", () => this.clear());
    byID("help").addEventListener("click", () => byID("keys").showModal());
    byID("after").addEventListener("click", () => this.hit(1));
    byID("before").addEventListener("click", () => this.hit(-1));
    byID("link").addEventListener("click", () => this.copyLink());
    byID("picture").addEventListener("click", () =>
      byID("timeline").toBlob((picture) => save(picture, byID("title").textContent + ".png")),
    );
    byID("trace")?.addEventListener("click", () =>
      save(
        new Blob(chromeTrace(this.view, this.rows), { type: "application/json" }),
        byID("title").textContent + ".trace.json",
      ),
    );
    for (const b of this.legend)
      b.addEventListener("click", () => {
        const kind = Number(b.dataset.kind);
        store.set({ kind: store.state.kind === kind ? null : kind });
      });
    byID("findings").addEventListener("click", (e) => {
      const b = e.target.closest("[data-select]");
      if (b) this.select(JSON.parse(b.dataset.select));
    });
  }

  // select shows the evidence of a finding.
  select(what) {
    const change = {};
    if (what.operation !== undefined) {
      const i = this.view.names.indexOf(what.operation);
      if (i >= 0) change.op = i;
    }
    if (what.device !== undefined) change.device = what.device;
    if (what.from !== undefined) Object.assign(change, { from: what.from, to: what.to });
    if (what.request !== undefined) change.request = what.request;
    this.store.set(change);
    if (what.from !== undefined) this.timeline.zoomTo(what.from, what.to, 0.2);
    const found = byID(what.section ?? "timeline");
    (found && !found.closest("section[hidden]") ? found : byID("timeline")).scrollIntoView({
      behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth",
      block: "center",
    });
  }

  copyLink() {
    const said = (text) => {
      byID("link").textContent = text;
      setTimeout(() => (byID("link").textContent = "copy link"), 1200);
    };
    const address = location.href.replace(/#.*/, "") + "#" + this.format(this.store.state);
    navigator.clipboard?.writeText(address).then(
      () => said("copied"),
      () => said("not allowed"),
    );
  }

  // hit goes to the next row with a name that the search matches, or to the one before.
  hit(way) {
    const { rows, marked } = this;
    if (!marked || rows.n === 0) return;
    if (this.hitsOf !== marked) {
      this.hitsOf = marked;
      const all = new Uint32Array(rows.n);
      let n = 0;
      for (let i = 0; i < rows.n; i++) if (marked[rows.name[i]]) all[n++] = i;
      this.hits = all.subarray(0, n);
      this.at = null;
    }
    const n = this.hits.length;
    if (n === 0) return;
    const from = lowerBound(0, n, this.timeline.from, (k) => rows.start[this.hits[k]]);
    this.at = this.at === null ? (way > 0 ? from : from - 1) : this.at + way;
    this.at = (this.at + n) % n;
    this.timeline.reveal(this.hits[this.at]);
    this.timeline.pin(this.hits[this.at]);
    byID("hits").textContent = `${formatCount(this.at + 1)} of ${formatCount(n)}`;
  }

  clear() {
    this.store.set({ from: null, to: null, op: null, device: null, request: null, kind: null, search: null });
    byID("search").value = "";
    byID("search").blur();
    this.timeline.pin(NONE);
    this.timeline.zoomTo(0, this.view.span_ns);
  }

  key(e) {
    if (e.key === "Escape") {
      if (!byID("keys").open) this.clear();
    } else if (e.key === "Enter" && e.target === byID("search")) {
      this.hit(e.shiftKey ? -1 : 1);
    } else if (e.target.matches?.("input, select, textarea") || e.ctrlKey || e.metaKey || e.altKey) {
      return;
    } else if (e.key === "/") {
      byID("search").focus();
      e.preventDefault();
    } else if (e.key === "?") {
      byID("keys").showModal();
    }
  }

  update(changed) {
    const { view, rows, store } = this,
      s = store.state;
    this.remember(changed);
    if (changed.size === 1 && changed.has("zoom")) return; // the timeline draws itself
    if (changed.has("theme")) {
      this.theme();
      this.flame.surface.draw();
      this.timeline.surface.draw();
    }
    if (changed.has("search")) {
      const { matches, error } = compileSearch(s.search);
      this.marked = matches ? Uint8Array.from(view.names, (n) => (matches(n) ? 1 : 0)) : null;
      byID("search").setCustomValidity(error ?? "");
      byID("search").classList.toggle("bad", error !== null);
      byID("hits").textContent = "";
    }
    this.timeline.marked = this.flame.marked = this.marked;
    const moved = ["from", "to", "device", "request", "stack", "value"].some((f) => changed.has(f));
    if (moved || changed.has("search")) clearTimeout(this.typing);
    if (moved) this.recompute(true);
    else if (changed.has("search")) this.typing = setTimeout(() => this.recompute(false), TYPING);
    for (const b of this.legend) b.setAttribute("aria-pressed", Number(b.dataset.kind) === s.kind);
    if (changed.has("op")) this.operations.table.drawBody();
    if (changed.has("device")) this.devices.table.drawBody();
    if (changed.has("request")) this.requests.table.drawBody();
    this.timeline.surface.draw();
    this.flame.surface.draw();
  }

  // recompute sums up the selection; after a change of the search only, the figures that depend on it.
  recompute(moved) {
    const { view, rows, store } = this,
      s = store.state;
    const picked = selectRows(rows, s, this.marked);
    const isWhole = s.from === null && s.to === null && !this.marked && [s.device, s.request].every((x) => x === null);
    const stack = s.stack ?? "request",
      v = VALUES[s.value] ?? VALUES.time;
    this.valueFormat = v;
    if (moved) {
      this.sections();
      this.flame.update(this.marked ? selectRows(rows, s, null) : picked, { of: v.of(rows) }, stack);
      this.launches.update();
      this.requests.update(s.from, s.to);
      sequences(this, byID("sequences"));
      phases(this, byID("phases"));
      engines(this, byID("engines"));
    }
    this.operations.update(picked, isWhole);
    this.devices.update(picked, isWhole, Math.max(0, s.from ?? 0), Math.min(view.span_ns, s.to ?? view.span_ns));
    const selected = { picked, isWhole, from: s.from ?? -Infinity, to: s.to ?? Infinity };
    communication(this, byID("communication"), selected);
    memory(this, byID("memory"), selected);
    errors(this, byID("errors"), selected);
    steps(this, byID("steps"), selected);
    this.describe(picked, isWhole);
  }

  describe(picked, isWhole) {
    const { view, store } = this,
      s = store.state;
    let ops = 0,
      sum = 0;
    for (const i of picked) {
      if (!isOperation(this.rows, i)) continue;
      ops++;
      sum += this.rows.dur[i];
    }
    const parts = [];
    if (s.from !== null || s.to !== null) parts.push(formatRange(s.from, s.to, view.span_ns));
    if (s.device !== null && view.devices[s.device]) parts.push("device " + view.devices[s.device].label);
    if (s.request !== null && view.requests[s.request])
      parts.push("request " + shorten(view.requests[s.request].name, 30));
    if (this.marked)
      parts.push(
        `names matching ${shorten(s.search, 24)}: ${formatShare(this.flame.matching(this.marked))} of the stacks' ${this.valueFormat.title}`,
      );
    byID("selection").textContent = isWhole
      ? "the whole run"
      : (parts.join(", ") || "the whole run") + `: ${plural(ops, "operation")} starting there, ${formatTime(sum)}`;
    byID("reset").hidden = isWhole && s.op === null;
  }

  tooltipRow(row, e, together) {
    if (together && e) {
      const { count, sum, from, to } = together;
      this.place(e, [
        `${formatCount(count)} operations`,
        `${formatTime(sum)} in ${formatTime(to - from)}; a double click zooms to them`,
      ]);
      return;
    }
    if (row === NONE || !e) {
      this.tip.hidden = true;
      return;
    }
    const { rows, view } = this;
    this.place(e, [
      view.names[rows.name[row]],
      `${formatTime(rows.dur[row])}, self ${formatTime(rows.self[row])}`,
      `at ${formatTime(rows.start[row])}`,
      errorText(view, rows.error[row], "error: "),
      rows.device[row] === NONE ? "" : view.devices[rows.device[row]].label,
      view.shapes[rows.shape[row]],
    ]);
  }

  tooltipNode(node, e) {
    if (!node || !e) {
      this.tip.hidden = true;
      return;
    }
    const v = this.valueFormat,
      all = this.flame.root.total;
    this.place(e, [
      node.name,
      `${v.format(node.total)}, ${formatShare(all > 0 ? node.total / all : 0)} of all`,
      `itself ${v.format(node.self)}`,
    ]);
  }

  place(e, lines) {
    show(
      this.tip,
      ...lines.filter(Boolean).map((line, i) => element(i === 0 ? "strong" : "div", {}, shorten(line, 160))),
    );
    this.tip.hidden = false;
    const box = this.tip.getBoundingClientRect();
    this.tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - box.width - 6)) + "px";
    this.tip.style.top =
      Math.max(4, e.clientY + 18 + box.height > innerHeight ? e.clientY - box.height - 10 : e.clientY + 18) + "px";
  }

  trail(node) {
    const chain = [];
    for (let n = node; n; n = n.parent) chain.push(n);
    show(
      byID("trail"),
      ...chain
        .reverse()
        .flatMap((n, i) => [
          i > 0 ? document.createTextNode(" › ") : null,
          pushLink(shorten(n.name, 40), () => this.flame.zoomTo(n)),
        ]),
    );
  }

  // details shows all properties of a row.
  details(row) {
    const box = byID("details");
    box.hidden = row === NONE;
    document.documentElement.toggleAttribute("data-beside", row !== NONE);
    if (row === NONE) return;
    const { rows, view, store } = this;
    const name = view.names[rows.name[row]];
    const same = [];
    for (let i = 0; i < rows.n; i++)
      if (rows.name[i] === rows.name[row] && rows.kind[i] === rows.kind[row]) same.push(rows.dur[i]);
    const rank = same.reduce((n, d) => n + (d > rows.dur[row] ? 1 : 0), 1);
    const path = [];
    for (let i = aboveOf(rows, row), n = 0; i !== NONE && n < 32; i = aboveOf(rows, i), n++)
      path.unshift(view.names[rows.name[i]] + gradientText(view.arguments[rows.arguments[i]]));
    if (rows.maker[row] !== NONE) path.push(view.names[rows.maker[row]]);
    const request = rows.request[row] === NONE ? null : view.requests[rows.request[row]];
    const facts = [
      ["kind", KINDS[rows.kind[row]]],
      ["error", errorText(view, rows.error[row])],
      [rows.launcher[row] === NONE && rows.maker[row] === NONE ? "below" : "launched by", path.join(" › ")],
      ["duration", formatTime(rows.dur[row])],
      ["self", formatTime(rows.self[row])],
      ["starts at", `${formatTime(rows.start[row])} of the run (${formatCount(rows.start[row])}\u00a0ns)`],
      ["waited", waitedText(rows.start[row] - rows.launch[row])],
      ["backward of", view.arguments[rows.arguments[row]][FORWARD]],
      ...argumentFacts(view.arguments[rows.arguments[row]], rows.launched[row] - rows.launch[row]),
      ["device", rows.device[row] === NONE ? null : view.devices[rows.device[row]].label],
      ["stream", rows.stream[row] === NONE ? null : rows.stream[row]],
      ["thread", rows.thread[row] === NONE ? null : view.threads[rows.thread[row]].id],
      ["step", rows.step[row] === NONE ? null : view.steps[rows.step[row]]],
      ["shapes", view.shapes[rows.shape[row]]],
      ["memory", rows.memory[row] > 0 ? formatBytes(rows.memory[row]) : null],
      [
        "rate",
        rows.flops[row] > 0 && rows.dur[row] > 0 ? formatRate(rows.flops[row] / (rows.dur[row] / 1e9), "FLOP/s") : null,
      ],
      ["request", request?.name],
      ["rank by duration", `${formatCount(rank)} of ${formatCount(same.length)}`],
    ];
    show(
      box,
      element("h3", {}, shorten(name, 80)),
      element(
        "dl",
        {},
        ...facts
          .filter(([, v]) => v !== null && v !== undefined && v !== "")
          .flatMap(([k, v]) => [element("dt", {}, k), element("dd", {}, printable(String(v)))]),
      ),
      element(
        "p",
        {},
        push("highlight all", () => store.set({ op: rows.name[row] })),
        " ",
        push("zoom", () => this.timeline.zoomTo(rows.start[row], rows.start[row] + rows.dur[row], 0.5)),
        " ",
        request?.link ? element("a", { href: request.link, rel: "noreferrer" }, "request in Jaeger") : null,
        " ",
        push("close", () => this.timeline.pin(NONE)),
      ),
    );
  }

  showRow(row) {
    this.timeline.zoomTo(this.rows.start[row], this.rows.start[row] + this.rows.dur[row], 3);
    this.timeline.pin(row);
    byID("timeline").scrollIntoView({ block: "nearest" });
  }

  // timeOf returns the time of the page at a Unix time, which a number of JavaScript holds to 256 ns.
  timeOf(unix) {
    return unix === null || unix === undefined ? null : Math.max(0, distance(this.view.origin_ns, BigInt(unix)));
  }

  // timeButton shows a time, and the row of this name that starts there, or the range.
  timeButton(at, duration, operation) {
    if (at === null) return "–";
    const { rows, view } = this;
    const act = () => {
      const near = (k) => Math.abs(rows.start[k] - at) <= 512;
      for (let k = lowerBound(0, rows.n, at - 512, (m) => rows.start[m]); k < rows.n && near(k); k++)
        if (view.names[rows.name[k]] === operation && rows.kind[k] < KIND_SPAN) return this.showRow(k);
      this.timeline.zoomTo(at, at + duration, 0.3);
      byID("timeline").scrollIntoView({ block: "center" });
    };
    return pushLink(formatTime(at), act);
  }

  showTime(from, to) {
    this.store.set({ from, to });
    this.timeline.zoomTo(from, to, 0.1);
    byID("timeline").scrollIntoView({ block: "nearest" });
  }
}

// save offers a file to the browser's user.
function save(file, name) {
  const address = URL.createObjectURL(file);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// chromeTrace returns the rows as a Chrome trace, in parts: a process per device, and one for the host. An arrow leads
// from the launch of an operation to it.
export function chromeTrace(view, rows) {
  const parts = [],
    events = [],
    named = new Set(),
    pids = new Map();
  const flush = () => parts.push((parts.length > 0 ? ",\n" : "") + events.splice(0).join(",\n"));
  const add = (event) => {
    events.push(JSON.stringify(event));
    if (events.length === 10_000) flush();
  };
  const name = (what, pid, tid, text) => {
    const key = `${what} ${pid} ${tid}`;
    if (!named.has(key)) add({ ph: "M", name: what, pid, tid, args: { name: text } });
    named.add(key);
  };
  // placeOf returns the process and the thread of a row.
  const placeOf = (i) => {
    const isDevice = rows.kind[i] < KIND_SPAN,
      thread = isDevice || rows.thread[i] === NONE ? null : view.threads[rows.thread[i]],
      device = isDevice && rows.device[i] !== NONE ? view.devices[rows.device[i]].label : null,
      text = device ?? (isDevice ? "no device" : "host" + (thread?.rank >= 0 ? " of rank " + thread.rank : ""));
    const tid = isDevice && rows.stream[i] !== NONE ? rows.stream[i] : (thread?.id ?? 0);
    if (!pids.has(text)) pids.set(text, pids.size + 1);
    const pid = pids.get(text);
    name("process_name", pid, 0, text);
    name("thread_name", pid, tid, (isDevice ? "stream " : "thread ") + tid);
    return { pid, tid };
  };
  for (let i = 0; i < rows.n; i++) {
    const place = placeOf(i),
      ts = rows.start[i] / 1000,
      text = view.names[rows.name[i]];
    const args = rows.kind[i] < KIND_SPAN ? attributesOf(view, rows, i) : {};
    add({ ph: "X", name: text, cat: KINDS[rows.kind[i]], ...place, ts, dur: rows.dur[i] / 1000, args });
    const host = rows.launch[i] <= rows.start[i] ? launcherOf(rows, i) : NONE;
    if (host === NONE) continue;
    add({ ph: "s", id: i, name: "launch", cat: "launch", ...placeOf(host), ts: rows.launch[i] / 1000 });
    add({ ph: "f", bp: "e", id: i, name: "launch", cat: "launch", ...place, ts });
  }
  if (events.length > 0) flush();
  const head = `{"displayTimeUnit":"ns","baseTimeNanoseconds":${view.origin_ns},"traceEvents":[\n`;
  return [head, ...parts, "]}\n"];
}

// attributesOf returns the attributes that tell optrace, which reads the trace too, what an operation is.
function attributesOf(view, rows, i) {
  const attributes = { "tensor.op.name": view.names[rows.name[i]] };
  if (rows.kind[i] > 0) attributes["tensor.op.kind"] = KINDS[rows.kind[i]];
  if (rows.device[i] !== NONE) attributes["tensor.device.id"] = view.devices[rows.device[i]].label;
  if (rows.stream[i] !== NONE) attributes["tensor.stream.id"] = rows.stream[i];
  return attributes;
}

// FORWARD is the argument of a backward operator with the name of its forward operator.
const FORWARD = "tensor.autograd.forward.name";

// gradientText names the forward operator of a backward operator in a chain.
const gradientText = (args) => (args[FORWARD] === undefined ? "" : ` (backward of ${args[FORWARD]})`);

// waitedText says how long an operation waited for its start.
function waitedText(ns) {
  if (Number.isNaN(ns)) return null;
  return ns < 0 ? `started ${formatTime(-ns)} before its launch` : formatTime(ns) + " from its launch";
}

// openPage shows the page with its embedded data. kind is the class of the page.
export async function openPage(kind) {
  try {
    const view = JSON.parse(byID("view").textContent);
    const page = new kind(view, decodeRows(await inflate(byID("rows").textContent.trim()), view.rows));
    page.start();
    globalThis.optrace = page; // for the browser's console
  } catch (e) {
    const box = byID("failed");
    box.hidden = false;
    box.textContent = "This page cannot be shown: " + e.message;
    document.documentElement.dataset.ready = "failed";
    console.error(e);
  }
}
