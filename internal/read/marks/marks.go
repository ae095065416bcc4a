// Package marks says what the ranges of a host are by their names: steps with their numbers, tokens
// and requests, and phases. The names are those that engines give to annotations of PyTorch's
// profiler and to NVTX ranges; table.go lists them with their sources.
package marks

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/optrace/optrace/op"
)

// Phases that marks tell.
const (
	Prefill       = "prefill"
	Decode        = "decode"
	Mixed         = "mixed"
	Forward       = "forward"
	Backward      = "backward"
	Optimizer     = "optimizer"
	Communication = "communication"
	Data          = "data"
)

// Mark is what the name of a range says.
type Mark struct {
	// Rank is 0 for a range that is no step. Of the steps of a process those of the lowest rank count:
	// an engine says more of its iterations than a profiler.
	Rank int
	// Number is the number of the step, where the name has one.
	Number op.Int
	// Phase is "" where the name tells none.
	Phase string
	// Tokens and Requests are those of the step, where the name has them.
	Tokens, Requests op.Int
}

// IsStep reports whether the range is a step.
func (m *Mark) IsStep() bool { return m.Rank > 0 }

// IsKnown reports whether a rule knows the name.
func (m *Mark) IsKnown() bool { return m.IsStep() || m.Phase != "" }

// maxWord bounds the names that rules without a source look at.
const maxWord = 64

// Of returns what a name says, ok false where no rule knows it. It may be called concurrently.
func Of(name string) (m Mark, ok bool) {
	name = strings.TrimPrefix(name, ":") // NVTX in front of the name of a range without a domain
	lower := strings.ToLower(name)
	for i := range rules {
		r := &rules[i]
		if !strings.Contains(lower, r.has) || r.source == "" && len(name) > maxWord {
			continue
		}
		found := r.pattern.FindStringSubmatch(name)
		if found == nil {
			continue
		}
		if m.Phase = r.phase; m.Phase == "" {
			m.Rank = i + 1
		}
		m.read(r.pattern.SubexpNames(), found)
		return m, true
	}
	return Mark{}, false
}

// read takes the parts of a name:
//
//	n          number of the step
//	requests, tokens
//	context, generation                 requests that are prefilled, and that decode
//	contextTokens, generationTokens     their tokens
//	mode       of the batch, a word
func (m *Mark) read(names, values []string) {
	parts := make(map[string]op.Int, len(names))
	mode := ""
	for i, name := range names {
		if n, err := strconv.ParseInt(values[i], 10, 64); err == nil {
			parts[name] = op.Known(n)
		} else if name == "mode" {
			mode = strings.ToLower(values[i])
		}
	}
	m.Number = parts["n"]
	m.Requests = cmp.Or(parts["requests"], sum(parts["context"], parts["generation"]))
	m.Tokens = cmp.Or(parts["tokens"], sum(parts["contextTokens"], parts["generationTokens"]))
	context := parts["context"].V > 0
	generation := parts["generation"].V > 0
	switch {
	case context && generation:
		m.Phase = Mixed
	case context:
		m.Phase = Prefill
	case generation:
		m.Phase = Decode
	case mode != "":
		m.Phase = modes[mode]
	}
}

// sum returns the sum of two numbers, unknown where either is.
func sum(a, b op.Int) op.Int {
	if !a.Known || !b.Known {
		return op.Int{}
	}
	return op.Known(a.V + b.V)
}
