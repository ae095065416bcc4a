package steps

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/read/marks"
	"github.com/optrace/optrace/op"
)

// describe sets the fields taken from the names of ranges and the phases of a step's operations.
func (s *Row) describe(f *trace.Forest, rows []int32) {
	values := f.Names.Marks.Values
	s.Phase = values[f.Mark(rows[0])].Phase
	s.Source = SourceAttribute
	one := true
	for _, r := range rows {
		m := values[f.Mark(r)]
		s.Name = cmp.Or(s.Name, m.StepName)
		one = one && m.StepName == s.Name
		if m.Phase != s.Phase {
			s.Phase = ""
		}
	}
	if s.Name == "" {
		return
	}
	s.Source = SourceRange
	if m, ok := marks.Of(s.Name); ok && m.IsStep() {
		s.Source = SourceAnnotation
		if m.Phase != "" {
			s.Phase = m.Phase
		}
		if one { // else processes had batches of their own
			s.Tokens = m.Tokens
			s.Requests = m.Requests
		}
	}
}

// Phase is a row of the table of phases.
type Phase struct {
	// Phase is unknown for operations without a phase.
	Phase key.Value `json:"phase"`
	// Steps counts iterations with operations of the phase, Count operations. SumNS sums up their durations.
	Steps int64 `json:"steps"`
	Count int64 `json:"count"`
	SumNS int64 `json:"sum_ns"`
	// Tokens is the sum of the tokens of the phase's steps, unknown if no step states them.
	Tokens op.Int `json:"tokens"`
}

// Phases sums up device operations by phase, the largest sum first, nil without phases. rows come from Rows.
func Phases(f *trace.Forest, rows []Row) []Phase {
	f.Build()
	if !slices.ContainsFunc(f.Names.Marks.Values, func(m trace.Mark) bool { return m.Phase != "" }) {
		return nil
	}
	type sums struct {
		steps map[int32]bool
		count int64
		sum   wide.Sum
	}
	all := make(map[string]*sums)
	iterations := Find(f)
	for r := range f.Rows() {
		if !f.IsDeviceSide(r) {
			continue
		}
		phase := f.Names.Marks.Values[f.Mark(r)].Phase
		s := all[phase]
		if s == nil {
			s = &sums{steps: make(map[int32]bool)}
			all[phase] = s
		}
		s.count++
		s.sum.Add(f.Duration(r))
		if of := iterations.of[r]; of != trace.NoRow {
			s.steps[of] = true
		}
	}
	if len(all) == 0 || len(all) == 1 && all[""] != nil {
		return nil
	}
	tokens := make(map[string]op.Int)
	for i := range rows {
		if r := &rows[i]; r.Tokens.Known {
			tokens[r.Phase] = op.Known(tokens[r.Phase].V + r.Tokens.V)
		}
	}
	table := make([]Phase, 0, len(all))
	for name, s := range all {
		table = append(table, Phase{
			Phase: key.Value{Text: name, Known: name != ""}, Steps: int64(len(s.steps)),
			Count: s.count, SumNS: s.sum.Int64(), Tokens: tokens[name],
		})
	}
	slices.SortFunc(table, func(a, b Phase) int {
		return cmp.Or(cmp.Compare(b.SumNS, a.SumNS), strings.Compare(a.Phase.Text, b.Phase.Text))
	})
	return table
}
