// Tables sort by any column, draw only the rows in view and copy as tab-separated text.

import { element, printable, show } from "./dom.js";

const ROW = 26,
  VISIBLE_BEFORE_VIRTUAL = 16;

// formatOrders and parseOrders write and read the orders of tables.
export const formatOrders = (orders) =>
  [...orders].map(([label, o]) => `${label}.${o.column}${o.descending ? "d" : "a"}`).join(",") || null;

export function parseOrders(text) {
  const found = [...(text ?? "").matchAll(/([^,.]+)\.(\d+)([ad])/g)];
  return new Map(found.map(([, label, column, way]) => [label, { column: Number(column), descending: way === "d" }]));
}

// sortRows returns the rows ordered by a column; unknown values come last.
export function sortRows(rows, column, descending) {
  const value = column.value;
  const known = (v) => v !== null && v !== undefined && !Number.isNaN(v);
  return rows
    .map((row, i) => [value(row), i, row])
    .sort(([a, i], [b, j]) => {
      if (known(a) !== known(b)) return known(a) ? -1 : 1;
      if (!known(a) || a === b) return i - j;
      const order = typeof a === "string" ? (a < b ? -1 : 1) : a - b;
      return descending ? -order : order;
    })
    .map((x) => x[2]);
}

// tabSeparated returns a table as text for a spreadsheet.
export function tabSeparated(columns, rows) {
  const cell = (v) =>
    (v === null || v === undefined || Number.isNaN(v) ? "" : printable(String(v)).replace(/[\t\n\r]/g, " ")).replace(
      /^[=+\-@＝＋－＠](?=[^0-9.]|$)/,
      "'$&",
    );
  return (
    [
      columns.map((c) => cell(c.title)).join("\t"),
      ...rows.map((r) => columns.map((c) => cell(c.value(r))).join("\t")),
    ].join("\n") + "\n"
  );
}

// Table shows rows by columns {title, value, text, numeric, render, hint}.
// Orders are kept by label in Table.orders, a Map of columns and directions; Table.keep is called after a change.
export class Table {
  static orders = new Map();
  static keep = () => {};

  constructor(parent, columns, options = {}) {
    this.columns = columns;
    this.options = options;
    this.rows = [];
    const kept = Table.orders.get(options.label);
    this.sort = (kept && kept.column < columns.length ? kept : options.sort) ?? null;
    this.open = null;
    this.head = element("tr", {});
    this.body = element("tbody", {});
    this.scroll = element(
      "div",
      { "class": "scroll", "tabindex": "0", "role": "region", "aria-label": options.label ?? "table" },
      element("table", {}, element("thead", {}, this.head), this.body),
    );
    this.note = element("p", { class: "note" });
    this.copy = element(
      "button",
      { class: "quiet", type: "button", title: "Copy the table as tab-separated text", onclick: () => this.copyText() },
      "copy",
    );
    show(parent, this.scroll, element("div", { class: "under" }, this.note, this.copy));
    this.scroll.addEventListener("scroll", () => this.drawBody(), { passive: true });
    this.drawHead();
  }

  drawHead() {
    show(
      this.head,
      ...this.columns.map((c, i) => {
        const sorted = this.sort && this.sort.column === i;
        return element(
          "th",
          {
            "class": c.numeric ? "number" : null,
            "aria-sort": sorted ? (this.sort.descending ? "descending" : "ascending") : null,
            "title": c.hint,
          },
          element(
            "button",
            { type: "button", onclick: () => this.sortBy(i) },
            c.title,
            sorted ? (this.sort.descending ? " ▾" : " ▴") : "",
          ),
        );
      }),
    );
  }

  sortBy(i) {
    const descending = this.sort && this.sort.column === i ? !this.sort.descending : Boolean(this.columns[i].numeric);
    this.sort = { column: i, descending };
    Table.orders.set(this.options.label, this.sort);
    Table.keep();
    this.drawHead();
    this.update(this.given, this.total);
  }

  // reorder shows the order that is kept.
  reorder() {
    this.sort = Table.orders.get(this.options.label) ?? this.options.sort ?? null;
    this.drawHead();
    this.update(this.given ?? [], this.total);
  }

  // update shows rows; note describes omitted rows.
  update(rows, note = "") {
    this.given = rows;
    this.total = note;
    this.rows = this.sort ? sortRows(rows, this.columns[this.sort.column], this.sort.descending) : rows;
    this.note.textContent = rows.length === 0 ? (this.options.empty ?? "nothing") : note;
    this.scroll.hidden = this.copy.hidden = rows.length === 0;
    this.scroll.classList.toggle("tall", this.rows.length > VISIBLE_BEFORE_VIRTUAL);
    this.drawBody();
  }

  drawBody() {
    const n = this.rows.length,
      columns = this.columns.length;
    let first = 0,
      last = n;
    if (n > VISIBLE_BEFORE_VIRTUAL) {
      first = Math.max(0, Math.floor(this.scroll.scrollTop / ROW) - 10);
      last = Math.min(n, first + Math.ceil(this.scroll.clientHeight / ROW) + 30);
    }
    const filler = (count) =>
      count > 0
        ? element("tr", { class: "filler" }, this.sized(element("td", { colspan: columns }), count * ROW))
        : null;
    const shown = [];
    for (let i = first; i < last; i++) {
      const row = this.rows[i],
        key = this.options.key?.(row);
      const selected = this.options.selected?.(row);
      shown.push(
        element(
          "tr",
          {
            class: selected ? "selected" : null,
            onclick: this.options.onclick ? () => this.options.onclick(row, this) : null,
          },
          ...this.columns.map((c) =>
            element(
              "td",
              { class: c.numeric ? "number" : (c.class ?? null), title: c.full ? printable(c.full(row)) : null },
              c.render ? c.render(row) : (c.text ?? c.value)(row),
            ),
          ),
        ),
      );
      if (key !== undefined && key === this.open)
        shown.push(element("tr", { class: "opened" }, element("td", { colspan: columns }, this.options.detail(row))));
    }
    show(this.body, filler(first), ...shown, filler(n - last));
  }

  sized(e, height) {
    e.style.height = height + "px";
    return e;
  }

  toggle(key) {
    this.open = this.open === key ? null : key;
    this.drawBody();
  }

  copyText() {
    navigator.clipboard?.writeText(tabSeparated(this.columns, this.rows)).then(
      () => {
        this.copy.textContent = "copied";
        setTimeout(() => (this.copy.textContent = "copy"), 1200);
      },
      () => (this.copy.textContent = "not allowed"),
    );
  }
}
