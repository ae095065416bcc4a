// The reader's choices. They are in the URL's fragment, so a copied link shows the same.

const FIELDS = [
  "from",
  "to",
  "search",
  "stack",
  "value",
  "theme",
  "op",
  "device",
  "request",
  "kind",
  "sort",
  "zoom",
  "pin",
  "lanes",
  "last",
  "origin",
];
const NUMBERS = new Set(["from", "to", "device", "request", "kind", "op", "pin", "last"]);

// parseState reads the state from a fragment.
export function parseState(fragment) {
  const state = {};
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  for (const field of FIELDS) {
    const text = given.get(field);
    if (text === null || text === "") state[field] = null;
    else if (NUMBERS.has(field)) state[field] = Number.isFinite(Number(text)) ? Number(text) : null;
    else state[field] = text;
  }
  return state;
}

// formatState writes the state as a fragment.
export function formatState(state) {
  const out = new URLSearchParams();
  for (const field of FIELDS)
    if (state[field] !== null && state[field] !== undefined && state[field] !== "") out.set(field, state[field]);
  return out.toString();
}

// A Store holds the state and calls its listeners after changes, at most once per frame, with the set of changed
// fields.
export class Store {
  constructor(state, schedule) {
    this.state = state;
    this.listeners = [];
    this.changed = new Set();
    this.schedule = schedule;
  }

  listen(f) {
    this.listeners.push(f);
  }

  set(change) {
    for (const [field, value] of Object.entries(change)) {
      if (this.state[field] === value) continue;
      this.state[field] = value;
      this.changed.add(field);
    }
    if (this.changed.size === 0 || this.pending) return;
    this.pending = true;
    this.schedule(() => {
      this.pending = false;
      const changed = this.changed;
      this.changed = new Set();
      for (const f of this.listeners) f(changed);
    });
  }
}

// compileSearch returns a predicate of names for plain text or a /regexp/, and
// the error of a bad regexp.
export function compileSearch(text) {
  if (!text) return { matches: null, error: null };
  const pattern = /^\/(.+)\/?$/.exec(text);
  if (pattern && text.length > 1) {
    const source = text.endsWith("/") && text.length > 2 ? text.slice(1, -1) : text.slice(1);
    try {
      const re = new RegExp(source, "i");
      return { matches: (name) => re.test(name), error: null };
    } catch (e) {
      return { matches: () => false, error: e.message };
    }
  }
  const wanted = text.toLowerCase();
  return { matches: (name) => name.toLowerCase().includes(wanted), error: null };
}
