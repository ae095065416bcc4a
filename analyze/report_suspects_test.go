package analyze

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Figures without suspects equal the report on the other operations.
func TestReportWithoutSuspects(t *testing.T) {
	clean := 0
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.SuspiciousSpecs(r, 1+r.IntN(60))
		for i := range specs {
			specs[i].Rank = op.Known(r.Int64N(2))
			specs[i].Kind = tracetest.Pick(r, op.KindCompute, op.KindCollective, op.KindMemory)
			specs[i].Step = op.Known(r.Int64N(3))
			if s := &specs[i]; seed%2 == 1 { // add links, remote parents and launches
				s.Memory = r.Int64N(100)
				s.Remote = r.IntN(8) == 0
				s.IsOp = s.IsOp && r.IntN(6) > 0
				if r.IntN(8) == 0 {
					*s = s.To(1, uint64(1+r.IntN(len(specs))))
				}
				if r.IntN(4) == 0 {
					s.Launch = op.Known(s.Start - r.Int64N(50*tracetest.Microsecond))
				}
				if !s.IsOp {
					s.Launch = op.Int{}
				}
			}
		}
		by := tracetest.Pick(r, "", "kind", "rank,operation", "trace,stream")
		durations, clock := tracetest.NaiveSuspects(specs)
		got := sampleReport(plainRecords(specs), by, true).WithoutSuspects
		if len(durations)+len(clock) == 0 {
			clean++
			if got != nil {
				t.Errorf("seed %d: figures without suspects", seed)
			}
			return
		}
		left := sampleReport(plainRecords(naiveWithout(specs, durations, clock)), by, true)
		want := &WithoutSuspects{
			Total: left.Total, Operations: left.Operations, Groups: left.Groups, Devices: left.Devices,
			LoadBalance:   left.LoadBalance,
			Communication: left.Communication, IdleCauses: left.IdleCauses, Launches: left.Launches,
			PathTotals: left.PathTotals, Steps: left.Steps,
		}
		check.Equal(t, fmt.Sprintf("seed %d", seed), want, got, tracetest.EqualKeys)
	})
	if clean == 0 || cases.All() && clean > 2500 {
		t.Errorf("%d inputs have no suspects", clean)
	}
}

// naiveWithout removes specs with suspect durations, whose children move up, and specs at or below clock problems.
func naiveWithout(specs []tracetest.Spec, durations, clock []int32) []tracetest.Spec {
	tree := tracetest.NewNaiveTree(specs)
	out := make([]bool, len(specs))
	for _, i := range durations {
		out[i] = true
	}
	for i := range specs {
		for at := i; at >= 0; at = tree.Parent[at] {
			for _, c := range clock {
				out[i] = out[i] || at == int(c)
			}
		}
		out[i] = out[i] || tree.Repeat[i]
	}
	return tracetest.NaiveReduced(specs, out)
}

// An incomplete forest has no figures without suspects.
func TestReportWithoutSuspectsBeyondTheLimit(t *testing.T) {
	specs := []tracetest.Spec{
		tracetest.OpAt("long", 1, 0, 0, 300*tracetest.Microsecond).OnStream(1),
		tracetest.OpAt("a", 2, 0, 10*tracetest.Microsecond, 20*tracetest.Microsecond).OnStream(1),
		tracetest.OpAt("b", 3, 0, 400*tracetest.Microsecond, 500*tracetest.Microsecond).OnStream(1),
	}
	c := newCollector(Options{})
	c.forest = trace.NewLimited(2)
	for _, s := range specs {
		c.addEntry(s.Entry())
	}
	r := c.report()
	if r.Input.SuspectDurations != op.Known(1) || r.WithoutSuspects != nil {
		t.Errorf("%v suspect durations, without them %+v", r.Input.SuspectDurations, r.WithoutSuspects)
	}
}
