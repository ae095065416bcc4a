package clickhouse

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"

	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/release"
)

const _ = release.ModulesMustBeOfOneReleaseV0_3_0

// documents are the sums of a selection in the format of partial results, see docs/formats.md. Package
// analyze adds up such documents of JSON lines.
type documents struct {
	options line
	limits  map[string]int // by table
	text    bytes.Buffer
	lines   int            // of the current document
	rows    map[string]int // of the current document, by table
	failed  error

	entries, malformed int64 // of all documents
}

func newDocuments(o profile.Options, recordedFLOPs bool) *documents {
	options := line{"max_groups": o.MaxGroups, "top": o.Top, "hotspot_bytes": o.HotspotBytes,
		"recorded_flops": recordedFLOPs}
	if len(o.By) > 0 {
		var by []string
		for _, k := range o.By {
			by = append(by, k.String())
		}
		options["by"] = by
	}
	n := o.MaxGroups
	return &documents{options: options, limits: map[string]int{"reason": 64, "writer": 1 << 12, "operation": n,
		"group": n, "device": n, "error": n}}
}

func (d *documents) put(l any) {
	enc := json.NewEncoder(&d.text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); d.failed == nil {
		d.failed = err
	}
	d.lines++
}

func (d *documents) begin(input, totals line) {
	d.lines = 0
	d.rows = make(map[string]int)
	d.put(struct {
		Schema  string `json:"schema"`
		Options line   `json:"options"`
	}{opfile.PartialSchema, d.options})
	d.put(line{"input": input})
	d.put(line{"totals": totals})
}

func (d *documents) end() { d.put(line{"end": line{"lines": d.lines}}) }

// row adds a row of a table. It starts another document at the limit of the table.
func (d *documents) row(table string, value any) {
	if d.rows[table] == d.limits[table] {
		d.end()
		d.begin(line{}, line{})
	}
	d.rows[table]++
	d.put(line{table: value})
}

func (d *documents) reason(of, reason string, n int64) {
	d.row("reason", line{"of": of, "reason": reason, "n": n})
}

// addInput adds a document with the counts of an input. Entries, warnings and losses come from the table.
func (d *documents) addInput(in *input) {
	e := &in.envelope
	d.malformed += e.Malformed
	var problems []line
	for _, text := range e.Problems {
		problems = append(problems, problemOf(text))
	}
	d.begin(line{
		"files": e.Files, "bytes": e.Bytes, "format": e.Formats, "skipped": e.Skipped, "malformed": e.Malformed,
		"truncated": e.Truncated, "dropped": e.Dropped, "missing_entries": e.MissingEntries, "problems": problems,
	}, line{"stated_more_ns": in.statedMore, "states_total": in.states})
	for reason, n := range e.SkippedBy {
		d.reason("skipped", reason, n)
	}
	for reason, n := range e.MalformedBy {
		d.reason("malformed", reason, n)
	}
	d.end()
}

// problemText matches the text of an [op.SyntaxError].
var problemText = regexp.MustCompile(`(?s)^(.*?)(?::(\d+))?: (.*) \(at byte (\d+)\)$|^(.*?): (.*)$`)

func problemOf(text string) line {
	m := problemText.FindStringSubmatch(text)
	if m == nil {
		return line{"file": "", "line": 0, "offset": -1, "message": text}
	}
	number := func(s string, none int64) int64 {
		if s == "" {
			return none
		}
		n, _ := strconv.ParseInt(s, 10, 64) // digits only
		return n
	}
	return line{"file": m[1] + m[5], "line": number(m[2], 0), "offset": number(m[4], -1), "message": m[3] + m[6]}
}
