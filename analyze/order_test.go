package analyze

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// The order of records with ids affects no figure, also with many equal times. Only documented lists in input order
// differ.
func TestOrderOfRecords(t *testing.T) {
	for seed := range cases.Some(t, 50, 5000) {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		specs := tracetest.RandomSpecs(r, 2+r.IntN(25))
		for i := range specs {
			s := &specs[i]
			s.Trace = byte(1 + r.IntN(2))
			s.ID = uint64(i + 1)  // no duplicates
			s.Start = r.Int64N(6) // many at the same time
			s.End = s.Start + r.Int64N(4)
			if s.Root != "" {
				s.Root = fmt.Sprint("GET /", s.RootID) // one name
			}
			if s.IsOp && r.IntN(2) == 0 {
				s.Stream = op.Known(r.Int64N(2))
			}
		}
		if !tracetest.NewNaiveTree(specs).FindExecutions() {
			continue // cyclic links: the start of the search matters
		}
		records := tracetest.RecordsOf(r, specs)
		want := sampleReport(records, "kind,device", true)
		r.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		got := sampleReport(records, "kind,device", true)
		check.Equal(t, fmt.Sprintf("seed %d", seed), want, got, tracetest.EqualKeys,
			cmpopts.IgnoreFields(Report{}, "Slowest"), cmpopts.IgnoreFields(Memory{}, "Hotspots")) // in input order
	}
}
