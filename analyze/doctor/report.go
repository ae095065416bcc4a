package doctor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

// Schema names the JSON form of a [Report] and its major version: keys are only ever added.
const Schema = "optrace.doctor/v1"

// Report says what a recording lacks.
type Report struct {
	Schema string `json:"schema"`
	// Input describes the input, and what of it could not be read.
	Input analyze.Envelope `json:"input"`
	// Findings has one for each thing that was looked for, missing or not, in one order.
	Findings []Finding `json:"findings"`
	// Engines counts the requests of which engines tell in spans that are no operations, by dialect.
	Engines map[string]int64 `json:"engines,omitempty"`
}

// Finding is about one thing that a recording may lack.
type Finding struct {
	// Name is what was looked for, such as "launch_times".
	Name string `json:"name"`
	// Of says where, such as "operations on accelerators", and Count how many of those there are.
	Of    string `json:"of"`
	Count int64  `json:"count"`
	// Missing is how many of them lack it; Share is their part, nil where Count is 0.
	Missing int64    `json:"missing"`
	Share   op.Float `json:"share"`
	// Estimated is set where Missing was found on a sample of the ids.
	Estimated bool `json:"estimated"`
	// Operations has the names of the operations that lack it most often, at most five.
	Operations []Operation `json:"operations"`
	Advice
}

// Operation counts what the operations of a name lack.
type Operation struct {
	Operation string `json:"operation"`
	Missing   int64  `json:"missing"`
}

// maxOperations bounds the names of a finding, and otherOperations stands for those beyond the limit of all.
const (
	maxOperations   = 5
	otherOperations = "(other)"
)

// Advice is what can be said of a thing whatever the input.
type Advice struct {
	// Effect says what it is for, and Figures are the keys of the report that are empty,
	// partial or not as good without it; those of the report of correlate start with its name.
	Effect  string   `json:"effect"`
	Figures []string `json:"figures"`
	// Go has the lines that record it by this module's API.
	Go []string `json:"go"`
	// Attributes record it in any language.
	Attributes []Attribute `json:"attributes"`
}

// Attribute is an attribute, or a field of a span that SDKs fill in.
type Attribute struct {
	// Where it stands: "span attribute", "resource attribute", "link attribute", or "span field" of OTLP.
	Where string `json:"where"`
	Key   string `json:"key"`
	// Type is the type of the value, Example one: a text, an integer, or a list.
	Type    string `json:"type"`
	Example any    `json:"example"`
}

// Report returns what was found, given the counts of the input.
func (d *Doctor) Report(env analyze.Envelope) *Report {
	r := &Report{Schema: Schema, Input: env, Findings: make([]Finding, 0, numChecks), Engines: d.engines}
	for i := range checks {
		c := &checks[i]
		f := Finding{Name: c.name, Of: c.of, Advice: Advice{c.effect, c.figures, c.code, c.attributes}, Operations: []Operation{}}
		if c.count != nil {
			c.count(d, &f)
		} else {
			f.Count = d.counts[i]
			f.Missing, f.Operations = d.operations(i)
		}
		if f.Count > 0 {
			f.Share = op.KnownFloat(float64(f.Missing) / float64(f.Count))
		}
		r.Findings = append(r.Findings, f)
	}
	return r
}

// operations returns how many operations a check found, and the names that it found most often.
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
