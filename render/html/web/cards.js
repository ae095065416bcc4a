// The headline and the findings, as cards that lead to their evidence.

import { element, printable, show } from "./dom.js";
import { formatBytes, formatCount, formatShare, formatTime } from "./units.js";

const UNITS = {
  ns: formatTime, B: formatBytes, "B/s": (n) => formatBytes(n) + "/s", count: formatCount, ratio: (x) => String(Number(x.toPrecision(3))),
};

// evidenceText returns a piece of evidence {name, value, unit} as text.
export function evidenceText({ name, value, unit }) {
  const known = UNITS[unit] ?? (unit === "" ? formatCount : undefined);
  return `${name} ${typeof value === "number" && known ? known(value) : `${value}${unit ? "\u00a0" + unit : ""}`}`;
}

// cards fills the headline and the findings of a view. there has the sections with content. kept keeps the height of
// what was there: a live page must not jump.
export function cards(view, headline, box, there, kept = false) {
  show(headline, ...(view.report.headline?.text ?? []).map((line) => element("p", {}, line)));
  const line = (cls, text) => (text ? element("span", { class: cls }, printable(text)) : null);
  const card = (f, i) => {
    const evidence = f.evidence ?? [],
      { gain, ...selection } = view.selections[i];
    return element(
      "li",
      {},
      element(
        "button",
        { "type": "button", "data-select": JSON.stringify(selection) },
        line("n", String(i + 1)),
        element("span", {}, f.text),
        line("more", evidence.map(evidenceText).join(" · ")),
        line("more", f.try ? "try: " + f.try : null),
        line("gain", gain ? "gain: " + gain : null),
        line(
          "go",
          selection.from === undefined && selection.section !== "timeline" && there[selection.section]
            ? "show " + selection.section.replace("_", " ")
            : "show in the timeline",
        ),
      ),
    );
  };
  if (kept) box.style.minHeight = Math.min(box.offsetHeight, innerHeight / 2) + "px";
  show(
    box,
    ...view.findings.map(card),
    view.findings.length === 0 ? element("li", { class: "muted" }, "Nothing stands out.") : null,
  );
}
