// Columns and tables shared by sections.

import { Table } from "./table.js";
import { formatCount, formatTime } from "./units.js";

export const time = (title, value, hint) => ({ title, value, text: (r) => formatTime(value(r)), numeric: true, hint });
export const count = (title, value, hint) => ({
  title,
  value,
  text: (r) => formatCount(value(r)),
  numeric: true,
  hint,
});

// deviceName is a device with its service, if several services have a device of this name.
export function deviceName(d) {
  return (d.service ? d.service + " " : "") + (d.device_id ?? "");
}

// keptTable makes a table that replaces the former one of this label.
export function keptTable(page, parent, columns, options) {
  const table = new Table(parent, columns, options);
  page.tables.set(options.label, table);
  return table;
}
