// A page with data of a server: it asks for new data repeatedly, and keeps the reader's choices.

import { NONE, decodeRows, distance, sameRow } from "./rows.js";
import { formatState, parseState } from "./state.js";
import { element, printable, show } from "./dom.js";
import { cards } from "./cards.js";
import { presence, reportTables } from "./report.js";
import { Page, byID, inflate, openPage } from "./main.js";

// How long to wait after an answer, and at most after a failure, in milliseconds.
const PAUSE = 1000,
  LONGEST_PAUSE = 2000;

const PERFETTO = "https://ui.perfetto.dev";

// The choices kept by number, and the names behind the numbers.
const CHOICES = {
  op: { names: (view) => view.names },
  device: { names: (view) => view.devices.map((d) => d.label) },
  request: { names: (view) => view.requests.map((r) => r.trace + "." + r.span) },
};

class LivePage extends Page {
  start() {
    super.start();
    byID("perfetto").addEventListener("click", () => this.handOver());
    byID("pause").addEventListener("click", () => {
      this.isPaused = !this.isPaused;
      byID("pause").setAttribute("aria-pressed", this.isPaused);
      byID("pause").textContent = this.isPaused ? "go on" : "pause";
      this.poll();
    });
    byID("range").value = this.store.state.last ?? "";
    byID("range").addEventListener("change", () => {
      const last = Number(byID("range").value) || null;
      this.store.set({ last, from: null, to: null });
      this.timeline.zoomTo(0, this.view.span_ns);
      this.follow();
    });
    this.follow();
    document.addEventListener("visibilitychange", () => this.poll());
    document.addEventListener("pointermove", (e) => (this.pointer = [e.clientX, e.clientY]));
    this.pause = PAUSE;
    this.poll();
  }

  // In the address, choices have names, because their numbers change with the data, and a range has a reference time.
  parse(fragment) {
    const given = new URLSearchParams(fragment.replace(/^#/, "")),
      state = parseState(fragment);
    this.names = {};
    for (const field of Object.keys(CHOICES)) this.names[field] = given.get(field);
    this.resolve(state);
    state.pin = null; // the number of a row changes with the data
    const origin = given.get("origin");
    if (origin !== null && /^-?[0-9]+$/.test(origin)) this.shiftRange(state, distance(this.view.origin_ns, origin));
    return state;
  }

  format(state) {
    this.nameChoices(state);
    const follows = state.last !== null,
      kept = follows ? { ...state, from: null, to: null, zoom: null } : state,
      range = kept.from !== null || kept.to !== null || kept.zoom !== null;
    return formatState({ ...kept, pin: null, ...this.names, origin: range ? this.view.origin_ns : null });
  }

  // nameChoices notes the names of choices. A name missing from the data stays until another choice.
  nameChoices(state) {
    for (const [field, { names }] of Object.entries(CHOICES)) {
      if (state[field] !== null) this.names[field] = names(this.view)[state[field]] ?? null;
      else if (!this.missing.has(field)) this.names[field] = null;
    }
  }

  // resolve sets the choices of the state to the numbers of their names.
  resolve(state) {
    this.missing = new Set();
    for (const [field, { names }] of Object.entries(CHOICES)) {
      const name = this.names[field],
        i =
          name === null
            ? -1
            : names(this.view).findIndex((n) => n === name || (field === "request" && n.startsWith(name + ".")));
      state[field] = i < 0 ? null : i;
      if (i < 0 && name !== null) this.missing.add(field);
    }
  }

  shiftRange(state, by) {
    if (state.from !== null) state.from += by;
    if (state.to !== null) state.to += by;
    if (state.zoom)
      state.zoom = state.zoom
        .split("-")
        .map((t) => Math.max(0, Number(t) + by))
        .join("-");
  }

  // follow selects and shows the last seconds of the data, if the reader chose so.
  follow() {
    const { last } = this.store.state;
    if (last === null) return;
    const from = Math.max(0, this.view.span_ns - last * 1e9);
    this.store.set({ from, to: null });
    this.timeline.move(from, Math.max(from + 1, this.view.span_ns));
  }

  cards() {
    cards(this.view, byID("headline"), byID("findings"), presence(this.view, this.rows), true);
  }

  clear() {
    this.missing.clear();
    this.store.set({ last: null });
    byID("range").value = "";
    super.clear();
  }

  async poll() {
    clearTimeout(this.timer);
    if (this.polling || document.hidden || this.isPaused) return;
    this.polling = true;
    try {
      const headers = this.tag ? { "If-None-Match": this.tag } : {};
      const answer = await fetch("data", { cache: "no-store", headers, signal: AbortSignal.timeout(30000) });
      if (answer.status === 200) {
        const data = await answer.json();
        if (await this.take(data)) this.tag = answer.headers.get("ETag");
      } else if (answer.status !== 304) {
        throw new Error(`it answers ${answer.status}`);
      }
      this.pause = PAUSE;
      this.lostAt = null;
      this.say("live", "");
    } catch (e) {
      this.pause = Math.min(LONGEST_PAUSE, 2 * this.pause);
      this.lostAt ??= new Date().toLocaleTimeString();
      this.say(
        `The server does not answer since ${this.lostAt}. The page shows what it had, and goes on when the server is back.`,
        e.message,
      );
    }
    this.polling = false;
    this.timer = setTimeout(() => this.poll(), this.pause);
  }

  // hold returns a function that scrolls the page until what is under the pointer, or in the middle of the window, is where
  // it was.
  hold() {
    const [x, y] = this.pointer ?? [innerWidth / 2, innerHeight / 2],
      place = document.elementFromPoint(x, y)?.closest("main > *"),
      top = place?.getBoundingClientRect().top;
    return () => {
      if (place && !place.hidden) scrollBy({ top: place.getBoundingClientRect().top - top, behavior: "instant" });
    };
  }

  say(text, reason) {
    const line = byID("live");
    if (line.textContent !== text) line.textContent = text;
    line.title = reason;
    line.classList.toggle("lost", this.lostAt !== null);
  }

  // take shows new data, and reports whether it did.
  async take(data) {
    if (data.build !== document.documentElement.dataset.build) {
      location.reload(); // the server is of another version
      return false;
    }
    const rows = decodeRows(await inflate(data.rows), data.view.rows);
    if (this.timeline.busy() || this.isPaused) return false; // in the middle of a drag
    const { view, store, timeline } = this,
      release = this.hold();
    const shift = distance(data.view.origin_ns, view.origin_ns),
      whole = timeline.from <= 0 && timeline.to >= timeline.end;
    const before = view.names,
      pinned = sameRow(
        this.rows,
        timeline.pinned,
        rows,
        shift,
        (n) => before[n],
        (n) => data.view.names[n],
      );
    const wasPinned = timeline.pinned !== NONE,
      scrolled = [...this.tables].map(([label, table]) => [label, table.scroll.scrollTop]);
    this.nameChoices(store.state);
    Object.assign(this.view, data.view);
    this.nameInShort(data.view);
    Object.assign(this.rows, rows);
    this.resolve(store.state);
    this.shiftRange(store.state, shift);
    timeline.hover = timeline.focus = NONE;
    timeline.arrange();
    if (whole) timeline.move(0, Math.max(1, timeline.end));
    else timeline.move(timeline.from + shift, timeline.to + shift);
    this.showHead(data);
    this.cards();
    reportTables(this);
    this.follow();
    this.update(new Set(["from", "search", "op", "device", "request"]));
    for (const [label, top] of scrolled) {
      const table = this.tables.get(label);
      if (top > 0) table.scroll.scrollTop = top;
    }
    if (wasPinned) timeline.pin(pinned);
    timeline.surface.fit();
    release();
    return true;
  }

  showHead(data) {
    document.title = printable(data.title) + " · optrace";
    byID("title").textContent = printable(data.title);
    byID("sentence").textContent = data.sentence;
    const open = [...byID("chips").children].map((c) => c.open);
    show(
      byID("chips"),
      ...data.notes.map((n, i) => element("details", { open: open[i] }, element("summary", {}, n.label), n.detail)),
    );
    byID("leftout").textContent =
      data.left_out > 0 ? `${data.left_out} without a start, or read twice, are not drawn` : "";
  }

  // handOver opens the page at ui.perfetto.dev, and sends the trace once the page listens.
  async handOver() {
    const tab = window.open(PERFETTO);
    if (!tab) return;
    const answer = await fetch("trace.json", { cache: "no-store" });
    if (!answer.ok) {
      tab.close();
      return;
    }
    const buffer = await answer.arrayBuffer(),
      title = document.title;
    const asking = setInterval(() => tab.postMessage("PING", PERFETTO), 100);
    const stop = () => {
      clearInterval(asking);
      window.removeEventListener("message", listen);
    };
    const listen = (e) => {
      if (e.origin !== PERFETTO || e.source !== tab || e.data !== "PONG") return;
      stop();
      tab.postMessage({ perfetto: { buffer, title } }, PERFETTO);
    };
    window.addEventListener("message", listen);
    setTimeout(stop, 60000);
  }
}

openPage(LivePage);
