package profile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/random"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
)

// A Forest has the sums over a part of its operations as a Profile has them that
// saw that part alone.
func TestForestProfile(t *testing.T) {
	cases.Seeds(t, 50, func(seed uint64, r *rand.Rand) {
		entries := random.Entries(r, r.IntN(300))
		weighted := r.IntN(2) == 0
		for i := range entries {
			if r.IntN(10) == 0 {
				entries[i].DeviceID, entries[i].EmptyDevice = "", true
			} else if r.IntN(10) == 0 {
				entries[i].DeviceID = device.Unknown
			}
			if weighted && r.IntN(50) > 0 {
				entries[i].AdjustedCount = 1 / (1 - r.Float64())
			}
		}
		opts := randomSumOptions(r)
		if r.IntN(2) == 0 { // with several keys of each form
			opts.By = opts.By[:0]
			for _, k := range r.Perm(len(key.Names()))[:4] {
				opts.By = append(opts.By, tracetest.Keys(key.Names()[k])...)
			}
		}
		base, want := New(opts), New(opts)
		forests := make([]*trace.Forest, 1+r.IntN(4))
		works := work.NewFinder(opts.RecordedFLOPs, opts.Peaks)
		for i := range forests {
			forests[i] = trace.New()
			forests[i].GroupBy(opts.By)
		}
		kept := make([]bool, len(entries))
		for i := range entries {
			base.Add(&entries[i])
			part := forests[i*len(forests)/len(entries)]
			part.StartPart(int64(i / 7))
			part.AddOp(&entries[i], works.Entry(&entries[i]))
			if kept[i] = r.IntN(3) > 0; kept[i] {
				want.Add(&entries[i])
			}
		}
		forests[0].Merge(forests[1:]...)
		forests[0].Build()
		got := Of(forests[0], base, func(row int32) bool { return kept[row] }).Sums()
		ignored := cmp.Options{tracetest.EqualKeys, cmpopts.IgnoreFields(Sums{}, "Slowest", "Hotspots")}
		if !slices.Contains(opts.By, key.Root) {
			ignored = append(ignored, cmpopts.IgnoreFields(Stats{}, "Mixes"))
		}
		check.Equal(t, fmt.Sprintf("seed %d, by %v", seed, opts.By), want.Sums(), got, ignored)
		all := Of(forests[0], base, func(int32) bool { return true }).Sums()
		check.Equal(t, fmt.Sprintf("seed %d, by %v: all operations", seed, opts.By), base.Sums(), all, tracetest.EqualKeys)
	})
}
