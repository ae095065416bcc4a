package requests

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
)

// The sentences about the slowest request of each input are in testdata/slowest.txt.
func TestSlowestRequestInWords(t *testing.T) {
	tests := []struct {
		name  string
		specs []tracetest.Spec
	}{
		{name: "nothing"},
		{name: "no operation", specs: []tracetest.Spec{tracetest.SpanAt("GET /", 1, 0, 0, 100)}},
		{name: "no request", specs: []tracetest.Spec{tracetest.OpAt("matmul", 1, 0, 0, 100)}},
		{
			name: "around operations",
			specs: []tracetest.Spec{
				tracetest.SpanAt("GET /", 1, 0, 0, 100), tracetest.SpanAt("model", 2, 1, 5, 90),
				tracetest.OpAt("matmul", 3, 2, 10, 50),
				tracetest.OpAt("copy", 4, 2, 60, 80).As(op.KindMemory),
				tracetest.OpAt("load", 5, 2, 80, 85).As(op.KindIO),
				tracetest.SpanAt("GET /", 1, 0, 0, 400).In(2), // longer, but without operations
			},
		},
		{
			name: "launches and queues",
			specs: []tracetest.Spec{
				tracetest.SpanAt("GET /", 1, 0, 0, 100), tracetest.OpAt("matmul", 2, 1, 20, 50).LaunchedAt(15),
				tracetest.OpAt("relu", 3, 1, 60, 100).LaunchedAt(40),
			},
		},
		{
			name: "a straggler",
			specs: []tracetest.Spec{
				tracetest.SpanAt("step", 1, 0, 0, 100), tracetest.SpanAt("a", 2, 1, 0, 100),
				tracetest.SpanAt("b", 3, 1, 0, 95), tracetest.OpAt("matmul", 4, 2, 0, 20),
				tracetest.OpAt("all_reduce", 5, 2, 20, 100).As(op.KindCollective),
				tracetest.OpAt("matmul", 6, 3, 0, 50).On("cuda:1"), tracetest.OpAt("relu", 7, 3, 50, 90).On("cuda:1"),
				tracetest.OpAt("all_reduce", 8, 3, 90, 95).On("cuda:1").As(op.KindCollective),
			},
		},
		{
			name: "a device that others use",
			specs: []tracetest.Spec{
				tracetest.SpanAt("GET /", 1, 0, 0, 100), tracetest.OpAt("matmul", 2, 1, 80, 90),
				tracetest.OpAt("relu", 3, 1, 95, 100).On("cuda:1"),
				tracetest.OpAt("conv2d", 2, 0, 10, 50).In(2), tracetest.OpAt("matmul", 3, 0, 50, 80).In(2),
				tracetest.OpAt("relu", 4, 0, 0, 95).In(2).On("cuda:1"),
			},
		},
		{
			name: "a queue behind others",
			specs: []tracetest.Spec{
				tracetest.SpanAt("GET /", 1, 0, 0, 100), tracetest.OpAt("matmul", 2, 1, 80, 100).LaunchedAt(10),
				tracetest.OpAt("conv2d", 2, 0, 0, 75).In(2),
			},
		},
		{
			name: "many parts",
			specs: []tracetest.Spec{
				tracetest.SpanAt("GET /", 1, 0, 0, 100), tracetest.OpAt("a", 2, 1, 0, 40),
				tracetest.OpAt("b", 3, 1, 40, 70), tracetest.OpAt("c", 4, 1, 70, 90),
				tracetest.OpAt("d", 5, 1, 90, 96), tracetest.OpAt("e\n"+strings.Repeat("x", 60), 6, 1, 96, 100),
			},
		},
	}
	var words strings.Builder
	for _, tt := range tests {
		fmt.Fprintf(&words, "%s:\n", tt.name)
		forest := tracetest.AddTo(trace.New(), tt.specs...)
		if slow := Slowest(forest, func() *collective.Joins { return collective.FindJoins(forest) }); slow != nil {
			for _, c := range slow.Causes {
				fmt.Fprintln(&words, "\t"+strings.ReplaceAll(c.Text, "\u00a0", " "))
			}
		}
	}
	golden.Check(t, "testdata/slowest.txt", words.String())
}

func TestNameInText(t *testing.T) { golden.Lines(t, "testdata/names.txt", NameInText) }

func TestNamesInTextStayDistinct(t *testing.T) {
	const tensile = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_"
	check.Equal(t, "two", []string{
		"Cijk_Alik_Bl…16x16x1_SN_LDSB1_PGR2_WS64_WG32_8_1", "Cijk_Alik_Bl…16x16x1_SN_LDSB0_PGR1_WS64_WG64_4_1",
		"attn_fwd",
	}, NamesInText([]string{tensile + "LDSB1_PGR2_WS64_WG32_8_1", tensile + "LDSB0_PGR1_WS64_WG64_4_1", "attn_fwd"}))
	check.Equal(t, "one", []string{"Cijk_Alik_Bljk_BBS_MT256x192x64_MI16x16x1"},
		NamesInText([]string{tensile + "LDSB1_PGR2_WS64_WG32_8_1"}))
}

// The causes of a request add up to its duration, and agree with the bounds of its path.
func TestCausesAddUp(t *testing.T) {
	waited := int64(0)
	cases.Seeds(t, 500, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(25))
		for i := range specs {
			if r.IntN(3) == 0 {
				specs[i].Name = "all_reduce"
				specs[i].Kind = op.KindCollective
			}
		}
		forest := tracetest.AddTo(trace.New(), specs...)
		requests := Find(forest)
		for i := range requests.List {
			q := &requests.List[i]
			causes := requests.Causes(q)
			if !q.StartNS.Known || q.Root.IsZero() {
				check.Equal(t, fmt.Sprintf("seed %d: causes without a start", seed), []Cause(nil), causes)
				continue
			}
			sums := make(map[string]int64)
			total := int64(0)
			for _, c := range causes {
				parts := int64(0)
				for _, p := range c.Parts {
					parts += p.TimeNS
				}
				if parts != c.TimeNS || c.TimeNS <= 0 || c.Text == "" {
					t.Errorf("seed %d: %s of %d ns has parts of %d ns: %q", seed, c.Cause, c.TimeNS, parts, c.Text)
				}
				sums[c.Cause] = c.TimeNS
				total += c.TimeNS
			}
			check.Equal(t, fmt.Sprintf("seed %d: causes of ns", seed), q.DurationNS.V, total)
			waited += sums[CauseStraggler]
			sum := path.NewSum(forest)
			path.NewWalks(forest).AddPath(sum, q.window(), nil)
			got := path.BoundBy{
				ComputeNS: sums[CauseCompute], MemoryNS: sums[CauseMemory], OtherNS: sums[CauseOther],
				CommunicationNS: sums[CauseStraggler] + sums[CauseCommunication],
				HostNS: sums[CauseLaunch] + sums[CauseQueue] + sums[CauseBefore] + sums[CauseHost] +
					sums[CauseAfter],
			}
			check.Equal(t, fmt.Sprintf("seed %d: bounds by causes", seed), sum.BoundBy(), got)
		}
		slow := Slowest(forest, func() *collective.Joins { return collective.FindJoins(forest) })
		for _, q := range requests.List {
			if q.Root.IsZero() || !q.StartNS.Known || slow != nil && q.DurationNS.V <= slow.DurationNS {
				continue
			}
			causes := requests.Causes(&q)
			if slices.ContainsFunc(causes, func(c Cause) bool { return !c.isOutside() }) {
				t.Errorf("seed %d: a request of %d ns is slower than %+v", seed, q.DurationNS.V, slow)
			}
		}
	})
	if cases.All() && waited == 0 {
		t.Error("no request waited for a straggler")
	}
}

func BenchmarkCausesOfRequests(b *testing.B) {
	requests := Find(tracetest.AddTo(trace.New(), tracetest.ServerRequests(200, 100)...))
	b.ReportAllocs()
	for b.Loop() {
		for i := range requests.List {
			requests.Causes(&requests.List[i])
		}
	}
}
