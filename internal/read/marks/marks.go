// Package marks interprets the names of a host's ranges: steps with their numbers, tokens and requests, and phases.
// Engines give these names to annotations of PyTorch's profiler and to NVTX ranges. table.go lists them with their
// sources.
package marks

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/optrace/optrace/op"
)

// The phases.
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

// Mark is the meaning of a range's name.
type Mark struct {
	// Rank is 0 for a range other than a step. The steps of a process are the marks of its lowest rank: an engine
	// tells more about its iterations than a profiler.
	Rank   int
	Number op.Int // the step's number in the name
	Phase  string // the phase in the name, or ""
	// Tokens and Requests are the step's, in the name.
	Tokens, Requests op.Int
}

// IsStep reports whether the range is a step.
func (m *Mark) IsStep() bool { return m.Rank > 0 }

// IsKnown reports whether a rule knows the name.
func (m *Mark) IsKnown() bool { return m.IsStep() || m.Phase != "" }

const maxWord = 64

// Of returns the meaning of a name, ok false for an unknown name. It is safe for concurrent use.
func Of(name string) (m Mark, ok bool) {
	name = strings.TrimPrefix(name, ":") // NVTX puts it before a name without a domain
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
//	context, generation                 requests in prefill, and in decode
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

func sum(a, b op.Int) op.Int {
	if !a.Known || !b.Known {
		return op.Int{}
	}
	return op.Known(a.V + b.V)
}
