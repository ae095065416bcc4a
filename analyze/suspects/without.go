package suspects

import "github.com/optrace/optrace/analyze/trace"

// Without reports for each row whether it has a suspect duration, is a clock
// problem or lies below one: the times of a whole branch come from the same
// clock.
func Without(f *trace.Forest, s *Found) []bool {
	out := make([]bool, f.Len())
	for _, r := range s.Durations {
		out[r] = true
	}
	below := make([]bool, f.Len())
	pending := append([]int32(nil), s.Clock...)
	for len(pending) > 0 {
		last := len(pending) - 1
		r := pending[last]
		pending = pending[:last]
		if below[r] {
			continue
		}
		below[r], out[r] = true, true
		pending = append(pending, f.Tree.Children(r)...)
	}
	return out
}
