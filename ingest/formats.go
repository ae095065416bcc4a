package ingest

import (
	"bytes"
)

// formats lists the formats, in the order in which they are tried. A detect
// function looks at the telling keys of the first record, or at the first bytes.
func formats() []Format {
	return []Format{
		{
			Name: "entries-jsonl",
			detect: func(h *head) bool {
				return h.isObjects() && (bytes.HasPrefix(h.value("schema"), []byte(`"optrace.entries/`)) ||
					h.has("operation", "gap", "batch", "span"))
			},
			records: entriesRecords,
		},
		{
			Name:    "trace-json",
			detect:  func(h *head) bool { return h.isObjects() && h.startsWith("entries", '[') },
			records: traceRecords,
		},
	}
}
