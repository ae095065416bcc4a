package findings

import "iter"

// RuleNames returns the names of the rules.
func RuleNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, r := range rules {
			if !yield(r.name) {
				return
			}
		}
		for _, name := range []string{"copy_overlap", "imbalance", "small_collectives"} { // of candidates
			if !yield(name) {
				return
			}
		}
	}
}
