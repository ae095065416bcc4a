package doctor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

// Schema names the JSON form of a [Report] and its major version. Minor versions only add keys.
const Schema = "optrace.doctor/v1"

// Report lists the properties missing in a recording.
type Report struct {
	Schema string `json:"schema"`
	// Input describes the input and its unreadable parts.
	Input analyze.Envelope `json:"input"`
	// Findings has an element per check, in fixed order, whether or not anything is missing.
	Findings []Finding `json:"findings"`
	// Coverage lists the work missing in the recording, and differing clocks of ranks.
	Coverage []Lack `json:"coverage"`
	// Engines counts the requests of inference engines in spans other than operations, by dialect.
	Engines map[string]int64 `json:"engines,omitempty"`
	// Profiler is the profiler of the recording, "" for programs with attributes and unknown profilers. Record has its
	// options for a complete recording.
	Profiler string `json:"profiler,omitempty"`
	Record   string `json:"record,omitempty"`
}

// Lack is a gap of the recording as a whole, and advice.
type Lack struct {
	Text string `json:"text"`
	Try  string `json:"try"`
}

// Finding is the result of one check.
type Finding struct {
	// Name is the checked property, such as "launch_times".
	Name string `json:"name"`
	// Of names the examined operations, such as "operations on accelerators". Count is their number.
	Of    string `json:"of"`
	Count int64  `json:"count"`
	// Missing counts the operations without the property. Share is their fraction of Count, nil if Count is 0.
	Missing int64    `json:"missing"`
	Share   op.Float `json:"share"`
	// Estimated is set if Missing comes from a sample of the ids.
	Estimated bool `json:"estimated"`
	// Operations has the operation names with the most missing, at most five.
	Operations []Operation `json:"operations"`
	// Try is the advice for the recording's profiler, "" if no option adds the property. Go and Attributes are empty for
	// profilers.
	Try string `json:"try,omitempty"`
	Advice
}

// Operation counts the operations of a name without the property.
type Operation struct {
	Operation string `json:"operation"`
	Missing   int64  `json:"missing"`
}

// maxOperations bounds the names of a finding. otherOperations stands for all names beyond maxNames.
const (
	maxOperations   = 5
	otherOperations = "(other)"
)

// Advice is the part of a finding independent of the input.
type Advice struct {
	// Effect describes the cost of the lack. Figures are the keys of the report made empty, partial or worse by it.
	// Keys of a correlate report start with "correlate".
	Effect  string   `json:"effect"`
	Figures []string `json:"figures"`
	// Go has lines of code to record the property through this module's API.
	Go []string `json:"go"`
	// Attributes record the property in any language.
	Attributes []Attribute `json:"attributes"`
}

// Attribute is an attribute, or a field of a span filled in by SDKs.
type Attribute struct {
	// Where is "span attribute", "resource attribute", "link attribute", or "span field" of OTLP.
	Where string `json:"where"`
	Key   string `json:"key"`
	// Type is the type of the value, Example an example: a text, an integer, or a list.
	Type    string `json:"type"`
	Example any    `json:"example"`
}

// Report returns the findings, given the counts of the input.
func (d *Doctor) Report(env analyze.Envelope) *Report {
	r := &Report{
		Schema: Schema, Input: env, Findings: make([]Finding, 0, numChecks), Coverage: d.coverage(&env),
		Engines: d.engines,
	}
	from := d.profiler(env.Formats)
	if from != nil {
		r.Profiler = from.name
		r.Record = from.record
	}
	shaped := false
	for i := range checks {
		c := &checks[i]
		f := Finding{
			Name: c.name, Of: c.of, Operations: []Operation{},
			Advice: Advice{c.effect, c.figures, c.code, c.attributes},
		}
		if c.count != nil {
			c.count(d, &f)
		} else {
			f.Count = d.counts[i]
			f.Missing, f.Operations = d.operations(i)
		}
		if f.Count > 0 {
			f.Share = op.KnownFloat(float64(f.Missing) / float64(f.Count))
		}
		if from != nil {
			shaped = shaped || f.Name == "input_shapes" && f.Count > f.Missing
			from.advise(&f, shaped)
		}
		r.Findings = append(r.Findings, f)
	}
	return r
}

// operations counts the operations without the property of a check, and returns the names with the most of them.
func (d *Doctor) operations(id int) (missing int64, found []Operation) {
	found = []Operation{}
	for row, other := range d.byName.All() {
		if row.missing[id] == 0 {
			continue
		}
		name := otherOperations
		if !other {
			name = row.name
		}
		missing += row.missing[id]
		found = append(found, Operation{name, row.missing[id]})
	}
	slices.SortFunc(found, func(a, b Operation) int {
		return cmp.Or(cmp.Compare(b.Missing, a.Missing), strings.Compare(a.Operation, b.Operation))
	})
	return missing, found[:min(len(found), maxOperations)]
}
