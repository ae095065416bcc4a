// Package seed holds the analyses of the recorder that this project started
// from, with its definitions and its microseconds, over a [seed.Trace] or over [Columns], which hold what they
// look at column by column. What a report says beyond them is in package analyze.
package seed

import (
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/seed"
)

// Summarize adds up the entries of a trace, which does not change.
func Summarize(t *seed.Trace) *Summary { return NewColumns(t).Summary() }

// MemoryHotspots returns the entries with more than threshold bytes of memory,
// in order. They belong to t.
func MemoryHotspots(t *seed.Trace, threshold int64) []*op.Entry {
	hotspots := []*op.Entry{}
	for i := range t.Entries {
		if e := &t.Entries[i]; e.MemoryBytes.V > threshold {
			hotspots = append(hotspots, e)
		}
	}
	return hotspots
}
