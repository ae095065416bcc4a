// The section of devices.

import { KIND_SPAN, NONE, deviceParts, utilisation } from "./rows.js";
import { shortenName } from "./dom.js";
import { Table } from "./table.js";
import { stacked, strip } from "./charts.js";
import { formatCount } from "./units.js";
import { time, count } from "./columns.js";

// Devices shows the parts of each device's time. They add up.
export class Devices {
  constructor(page, parent) {
    this.page = page;
    this.table = new Table(
      parent,
      [
        {
          title: "device",
          value: (d) => d.label,
          class: "name",
          full: (d) => d.label,
          text: (d) => shortenName(d.label, 40),
        },
        count("count", (d) => d.count),
        time("sum", (d) => d.sum),
        {
          title: "parts of the time",
          value: (d) => d.busy,
          class: "wide",
          render: (d) =>
            stacked(
              [
                { value: d.compute, kind: "compute", label: "compute" },
                { value: d.communication, kind: "collective", label: "communication beside no compute" },
                { value: d.memory, kind: "memory", label: "memory beside neither" },
                { value: d.other, kind: "control", label: "other" },
              ],
              this.scale,
            ),
        },
        time("span", (d) => d.span),
        time("busy", (d) => d.busy),
        time("compute", (d) => d.compute),
        time("exposed comm", (d) => d.communication),
        time("exposed mem", (d) => d.memory),
        time("idle", (d) => d.idle),
        {
          title: "idle by cause",
          hint: "of the whole run: the host launched too late, the operation stood in the queue, anything else, or no request was under way",
          value: (d) => d.causes?.host.sum_ns ?? null,
          class: "wide",
          render: (d) =>
            d.causes
              ? stacked(
                  ["host", "queue", "other", "no_request"].map((c) => ({
                    value: d.causes[c].sum_ns,
                    kind: "by-" + c,
                    label: c.replace("_", " "),
                  })),
                  this.scale,
                )
              : "–",
        },
        {
          title: "busy over time",
          value: (d) => d.busy,
          class: "wide",
          render: (d) => strip(d.strip, "compute", "busy over time"),
        },
      ],
      {
        label: "devices",
        empty: "no device in the selection",
        selected: (d) => page.store.state.device === d.device,
        onclick: (d) => page.store.set({ device: page.store.state.device === d.device ? null : d.device }),
      },
    );
  }

  update(picked, isWhole, from, to) {
    const { rows, view } = this.page;
    const byDevice = new Map();
    for (const i of picked) {
      if (rows.kind[i] >= KIND_SPAN || rows.device[i] === NONE) continue;
      let list = byDevice.get(rows.device[i]);
      if (!list) byDevice.set(rows.device[i], (list = []));
      list.push(i);
    }
    const all = [...byDevice]
      .sort((a, b) => a[0] - b[0])
      .map(([device, list]) => {
        let sum = 0,
          count = 0;
        for (const i of list) {
          sum += rows.dur[i];
          count++;
        }
        const d = {
          device,
          label: view.devices[device].label,
          count,
          sum,
          strip: Array.from(utilisation(rows, list, from, to, 80)),
        };
        d.causes = isWhole ? view.report.idle_causes?.devices[view.devices[device].idle_row] : null;
        const o = isWhole && (view.report.devices ?? [])[view.devices[device].row];
        if (o && o.count === d.count && o.span_ns !== null)
          Object.assign(d, {
            sum: o.sum_ns,
            span: o.span_ns,
            busy: o.busy_ns,
            compute: o.compute_ns,
            communication: o.exposed_communication_ns,
            memory: o.exposed_memory_ns,
            other: o.other_ns,
            idle: o.idle_ns,
          });
        else Object.assign(d, deviceParts(rows, list));
        return d;
      });
    this.scale = Math.max(1, ...all.map((d) => d.span));
    this.table.update(
      all,
      `${all.length === 1 ? "one device" : formatCount(all.length) + " devices"} on one scale; compute, exposed communication, exposed memory, other and idle add up to the span`,
    );
  }
}
