package clickhouse

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

// document is the sums of a selection, as docs/formats.md describes partial results: lines of
// JSON of the schema optrace.profile/v1, which package analyze reads.
type document struct {
	options    documentOptions
	input      documentInput
	reasons    []line
	writers    []line
	totals     totals
	operations []line
	groups     []line
	devices    []line
	slowest    []*op.Entry
	hotspots   []*op.Entry
}

// line is a line of a document.
type line map[string]any

type documentOptions struct {
	By            []string `json:"by,omitempty"`
	MaxGroups     int      `json:"max_groups"`
	Top           int      `json:"top"`
	HotspotBytes  int64    `json:"hotspot_bytes"`
	RecordedFLOPs bool     `json:"recorded_flops,omitempty"`
}

type documentInput struct {
	Files          int64            `json:"files"`
	Bytes          int64            `json:"bytes"`
	Formats        []string         `json:"format"`
	Entries        int64            `json:"entries"`
	NoOps          int64            `json:"skipped"`
	Weighted       int64            `json:"weighted,omitempty"`
	Malformed      int64            `json:"malformed,omitempty"`
	Truncated      int64            `json:"truncated,omitempty"`
	Dropped        int64            `json:"dropped,omitempty"`
	MissingEntries int64            `json:"missing_entries,omitempty"`
	Warnings       map[string]int64 `json:"warnings,omitempty"`
	Problems       []problem        `json:"problems,omitempty"`
}

type problem struct {
	File    string `json:"file"`
	Line    int64  `json:"line"`
	Offset  int64  `json:"offset"`
	Message string `json:"message"`
}

// The bounds of the tables of a document: where there are more lines, there are more documents,
// and who reads them adds them up.
const (
	maxProblems  = 10
	linesPerPart = 64 // of reasons, the smallest table
)

// text returns the documents.
func (d *document) text() ([]byte, error) {
	var out bytes.Buffer
	reasons := slices.Collect(chunks(d.reasons, linesPerPart))
	writers := slices.Collect(chunks(d.writers, 1<<12))
	var tables [3][][]line
	for i, t := range [][]line{d.operations, d.groups, d.devices} {
		tables[i] = slices.Collect(chunks(t, d.options.MaxGroups))
	}
	n := max(1, len(reasons), len(writers), len(tables[0]), len(tables[1]), len(tables[2]))
	for i := range n {
		part := &document{options: d.options, reasons: at(reasons, i), writers: at(writers, i)}
		part.operations, part.groups, part.devices = at(tables[0], i), at(tables[1], i), at(tables[2], i)
		if i == 0 {
			part.input, part.totals, part.slowest, part.hotspots = d.input, d.totals, d.slowest, d.hotspots
		}
		if err := part.write(&out); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// at returns the i-th list, nil beyond the last one.
func at(lists [][]line, i int) []line {
	if i < len(lists) {
		return lists[i]
	}
	return nil
}

// chunks yields a list in parts.
func chunks(list []line, n int) func(func([]line) bool) { return slices.Chunk(list, max(1, n)) }

// write writes one document.
func (d *document) write(out *bytes.Buffer) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	n := 0
	var failed error
	put := func(l any) {
		if err := enc.Encode(l); failed == nil {
			failed = err
		}
		n++
	}
	put(line{"schema": op.PartialSchema, "options": d.options})
	put(line{"input": d.input})
	for _, lines := range [][]line{d.reasons, d.writers} {
		for _, l := range lines {
			put(l)
		}
	}
	put(line{"totals": d.totals})
	for _, lines := range [][]line{d.operations, d.groups, d.devices} {
		for _, l := range lines {
			put(l)
		}
	}
	for key, entries := range map[string][]*op.Entry{"slowest": d.slowest, "hotspot": d.hotspots} {
		for _, e := range entries {
			put(line{key: json.RawMessage(e.AppendJSON(nil))})
		}
	}
	put(line{"end": map[string]int{"lines": n}})
	return failed
}

// addEnvelope adds the counts of an input.
func (d *document) addEnvelope(e *analyze.Envelope) {
	in := &d.input
	in.Files += e.Files
	in.Bytes += e.Bytes
	in.Malformed += e.Malformed
	in.Truncated += e.Truncated
	in.Dropped += e.Dropped
	in.MissingEntries += e.MissingEntries
	for _, f := range e.Formats {
		if !slices.Contains(in.Formats, f) {
			in.Formats = append(in.Formats, f)
		}
	}
	for _, text := range e.Problems {
		if len(in.Problems) < maxProblems {
			in.Problems = append(in.Problems, problemOf(text))
		}
	}
}

// addReasons adds the counts by reason of all inputs, but for those of the table: see addGaps.
func (d *document) addReasons(inputs []*input) {
	for _, of := range []struct {
		name   string
		counts func(*analyze.Envelope) map[string]int64
	}{
		{"skipped", func(e *analyze.Envelope) map[string]int64 { return e.SkippedBy }},
		{"malformed", func(e *analyze.Envelope) map[string]int64 { return e.MalformedBy }},
	} {
		sums := make(map[string]int64)
		for _, in := range inputs {
			for reason, n := range of.counts(&in.envelope) {
				sums[reason] += n
			}
		}
		for reason, n := range sums {
			d.addReason(of.name, reason, n)
		}
	}
}

func (d *document) addReason(of, reason string, n int64) {
	d.reasons = append(d.reasons, line{"reason": map[string]any{"of": of, "reason": reason, "n": n}})
}

// The texts of problems, as op.SyntaxError has them.
var (
	problemAtLine = regexp.MustCompile(`(?s)^(.*?):(\d+): (.*) \(at byte (\d+)\)$`)
	problemAtByte = regexp.MustCompile(`(?s)^(.*?): (.*) \(at byte (\d+)\)$`)
	problemOfFile = regexp.MustCompile(`(?s)^(.*?): (.*)$`)
)

// problemOf returns the problem of a text.
func problemOf(text string) problem {
	number := func(s string) int64 {
		n, _ := strconv.ParseInt(s, 10, 64) // digits, of a number that was printed
		return n
	}
	if m := problemAtLine.FindStringSubmatch(text); m != nil {
		return problem{File: m[1], Line: number(m[2]), Message: m[3], Offset: number(m[4])}
	}
	if m := problemAtByte.FindStringSubmatch(text); m != nil {
		return problem{File: m[1], Message: m[2], Offset: number(m[3])}
	}
	if m := problemOfFile.FindStringSubmatch(text); m != nil {
		return problem{File: m[1], Message: m[2], Offset: -1}
	}
	return problem{Message: text, Offset: -1}
}
