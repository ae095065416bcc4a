package analyze

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

// selfByGroup returns the self times of the groups by key and side.
func selfByGroup(r *Report) map[string]op.Int {
	self := map[string]op.Int{}
	for _, g := range r.Groups {
		self[g.Side+"|"+g.Key.String()] = g.SelfNS
	}
	return self
}

func TestGroupSelfTimes(t *testing.T) {
	specs := []tracetest.Spec{
		tracetest.OpAt("relu", 1, 0, 0, 100), tracetest.OpAt("matmul", 2, 1, 10, 40), tracetest.OpAt("matmul", 3, 1, 50, 60).On("cuda:1"),
		tracetest.OpAt("relu", 4, 0, 0, 7).On(""), tracetest.OpAt("relu", 5, 0, 0, 200).FromHost(),
	}
	var records []op.Record
	for _, s := range specs {
		records = append(records, op.Record{Entry: s.Entry()})
	}
	for by, want := range map[string]map[string]op.Int{
		"operation,device": {
			"|relu, cuda:0": op.Known(60), "|matmul, cuda:0": op.Known(30), "|matmul, cuda:1": op.Known(10),
			"|relu, unknown": op.Known(7), "host|relu, cuda:0": op.Known(200),
		},
		"kind,rank,trace": {
			"|compute, unknown, 00000000000000000000000000000001":     op.Known(107),
			"host|compute, unknown, 00000000000000000000000000000001": op.Known(200),
		},
		"kind,shape": {"|compute, unknown": op.Known(107), "host|compute, unknown": op.Known(200)},
	} {
		if diff := cmp.Diff(want, selfByGroup(sampleReport(records, by, true))); diff != "" {
			t.Errorf("by %s: %s", by, diff)
		}
	}
}

// By operation the groups are the rows of the operations, also beyond a limit.
func TestGroupSelfTimesAgreeWithOperations(t *testing.T) {
	cases.Seeds(t, 40, func(seed uint64, r *rand.Rand) {
		opts := Options{}
		opts.By = tracetest.Keys("operation")
		opts.MaxGroups = 1 + r.IntN(8)
		p, forest := profile.New(opts.sums()), trace.New()
		forest.GroupBy(opts.By)
		groups, operations := int64(0), int64(0)
		for _, s := range tracetest.RandomSpecs(r, 40) {
			if s.IsOp {
				p.Add(s.Entry())
			}
			forest.Add(s.Record())
		}
		rep := newReport(newCounter(), p, forest, false)
		for _, g := range rep.Groups {
			groups += g.SelfNS.V
		}
		for _, row := range rep.Operations {
			operations += row.SelfNS.V
		}
		if groups != operations {
			t.Errorf("seed %d: self times of groups %d, of operations %d", seed, groups, operations)
		}
	})
}
