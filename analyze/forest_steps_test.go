package analyze

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

const second = 1_000_000_000

// stepOp is an operation of a step on cuda:0 in trace 1, without a parent.
func stepOp(step, start, end int64) spec { return opAt("a", 0, 0, start, end).inStep(step) }

// stepRow is a row of the table without a service.
func stepRow(step, run, count, sum, wall, busy int64) Step {
	return Step{Step: step, Run: run, Count: count, SumNS: sum, WallNS: op.Known(wall), BusyNS: op.Known(busy)}
}

func ofService(s Step, service string) Step { s.Service = service; return s }

func TestSteps(t *testing.T) {
	tests := []struct {
		name  string
		specs []spec
		want  []Step
	}{
		{name: "no steps", specs: []spec{opAt("a", 1, 0, 0, 10)}},
		{
			name:  "C8: an ordinal per operation is no step",
			specs: []spec{opAt("a", 1, 0, 0, 10).inStep(0), opAt("b", 2, 0, 10, 20).inStep(1)},
		},
		{
			name: "steps over two devices, in ascending order, the host's view left out",
			specs: []spec{
				opAt("a", 1, 0, 100, 110).inStep(7), opAt("b", 2, 0, 0, 30).inStep(-2), opAt("c", 3, 0, 20, 50).inStep(-2).on("cuda:1"),
				opAt("d", 4, 0, 60, 70).inStep(-2), opAt("e", 5, 0, 0, 500).inStep(7).fromHost(), opAt("f", 6, 0, 0, 500),
			},
			want: []Step{stepRow(-2, 1, 3, 70, 70, 60), stepRow(7, 1, 1, 10, 10, 10)},
		},
		{
			name: "without starts",
			specs: []spec{
				opAt("a", 1, 0, 0, 10).inStep(1).withoutStart(), opAt("b", 2, 0, 0, 5).inStep(1).withoutStart(),
				opAt("c", 3, 0, 0, 10).inStep(2).withoutStart(), opAt("d", 4, 0, 20, 25).inStep(2),
			},
			want: []Step{{Step: 1, Run: 1, Count: 2, SumNS: 15}, stepRow(2, 1, 2, 15, 5, 5)},
		},
		{
			name: "a loop that begins again",
			specs: []spec{
				stepOp(0, 0, 10), stepOp(0, 10, 20), stepOp(1, 20, 30), stepOp(1, 30, 40),
				stepOp(0, 100, 110), stepOp(0, 110, 120), stepOp(1, 120, 130), stepOp(1, 130, 140), stepOp(2, 140, 150),
			},
			want: []Step{
				stepRow(0, 1, 2, 20, 20, 20), stepRow(0, 2, 2, 20, 20, 20),
				stepRow(1, 1, 2, 20, 20, 20), stepRow(1, 2, 2, 20, 20, 20), stepRow(2, 1, 1, 10, 10, 10),
			},
		},
		{
			name: "it goes on at a checkpoint",
			specs: []spec{
				stepOp(0, 0, 10), stepOp(1, 10, 20), stepOp(2, 20, 30), stepOp(2, 30, 40),
				stepOp(1, 100, 110), stepOp(2, 110, 120), stepOp(3, 120, 130),
			},
			want: []Step{
				stepRow(0, 1, 1, 10, 10, 10), stepRow(1, 1, 1, 10, 10, 10),
				stepRow(1, 2, 1, 10, 10, 10), stepRow(2, 1, 2, 20, 20, 20), stepRow(2, 2, 1, 10, 10, 10),
				stepRow(3, 1, 1, 10, 10, 10),
			},
		},
		{
			name: "a device that lags behind another",
			specs: []spec{
				stepOp(0, 0, 10), stepOp(0, 5, 15).on("cuda:1"), stepOp(1, 10, 20), stepOp(0, 15, 25).on("cuda:1"), stepOp(1, 20, 30),
				stepOp(1, 25, 35).on("cuda:1"), stepOp(2, 30, 40), stepOp(1, 35, 45).on("cuda:1"), stepOp(2, 45, 55).on("cuda:1"),
			},
			want: []Step{stepRow(0, 1, 3, 30, 25, 25), stepRow(1, 1, 4, 40, 35, 35), stepRow(2, 1, 2, 20, 25, 20)},
		},
		{
			name: "data of the next step copied ahead",
			specs: []spec{
				stepOp(0, 0, 20), stepOp(1, 10, 15), stepOp(0, 20, 30), stepOp(1, 31, 33), stepOp(0, 34, 40), stepOp(1, 40, 70),
				stepOp(1, 80, 90), stepOp(0, 120, 140),
			},
			want: []Step{stepRow(0, 1, 3, 36, 40, 36), stepRow(0, 2, 1, 20, 20, 20), stepRow(1, 1, 4, 47, 80, 47)},
		},
		{
			name: "operations that start at once do not begin it again",
			specs: []spec{
				stepOp(1, 10, 20), stepOp(0, 0, 20), stepOp(0, 10, 30),
			},
			want: []Step{stepRow(0, 1, 2, 40, 30, 30), stepRow(1, 1, 1, 10, 10, 10)},
		},
		{
			name: "services are apart",
			specs: []spec{
				stepOp(0, 0, 10).of("b"), stepOp(0, 10, 20).of("b"), stepOp(0, 0, 10).of("a"), stepOp(1, 10, 20).of("a"), stepOp(0, 5, 10),
			},
			want: []Step{
				stepRow(0, 1, 1, 5, 5, 5), ofService(stepRow(0, 1, 1, 10, 10, 10), "a"), ofService(stepRow(1, 1, 1, 10, 10, 10), "a"),
				ofService(stepRow(0, 1, 2, 20, 20, 20), "b"),
			},
		},
		{
			name: "requests are apart, even at the same time",
			specs: []spec{
				spanAt("GET /", 1, 0, 0, 100), spanAt("GET /", 2, 0, 0, 100).in(2),
				opAt("a", 3, 1, 0, 10).inStep(0), opAt("a", 4, 2, 5, 15).inStep(0).in(2), opAt("a", 5, 1, 10, 20).inStep(0),
				opAt("a", 6, 1, 20, 30).inStep(1), opAt("a", 7, 2, 25, 35).inStep(0).in(2), opAt("a", 8, 0, 2, 12).inStep(0).in(3),
			},
			want: []Step{stepRow(0, 1, 2, 20, 20, 20), stepRow(0, 2, 1, 10, 10, 10), stepRow(0, 3, 2, 20, 30, 20), stepRow(1, 1, 1, 10, 10, 10)},
		},
		{
			name: "a shared execution is apart from those of the same engine",
			specs: []spec{
				spanAt("GET /", 1, 0, 0, 100), spanAt("GET /", 2, 0, 0, 100).in(2), spanAt("engine", 9, 0, 0, 100).in(3),
				spanAt("batch", 10, 9, 0, 30).in(3).to(1, 1).to(2, 2), opAt("a", 11, 10, 0, 10).inStep(0).in(3),
				spanAt("batch", 20, 9, 5, 30).in(3).to(1, 1).to(2, 2), opAt("a", 21, 20, 5, 25).inStep(0).in(3),
				opAt("a", 12, 10, 20, 30).inStep(0).in(3), opAt("a", 13, 9, 40, 50).inStep(0).in(3),
			},
			want: []Step{stepRow(0, 1, 2, 20, 30, 20), stepRow(0, 2, 1, 20, 20, 20), stepRow(0, 3, 1, 10, 10, 10)},
		},
		{
			name: "a duplicate belongs to the request of the first",
			specs: []spec{
				spanAt("GET /", 1, 0, 0, 100), opAt("a", 2, 1, 0, 10).inStep(0), opAt("a", 2, 0, 20, 30).inStep(0), stepOp(0, 40, 50),
			},
			want: []Step{stepRow(0, 1, 2, 20, 30, 20), stepRow(0, 2, 1, 10, 10, 10)},
		},
		{
			name: "a request that waits for long is one",
			specs: []spec{
				spanAt("GET /", 1, 0, 0, 9*second), opAt("a", 3, 1, 0, 10).inStep(0), opAt("a", 4, 1, 5*second, 5*second+10).inStep(0),
			},
			want: []Step{stepRow(0, 1, 2, 20, 5*second+10, 20)},
		},
		{
			name: "traces more than a second apart",
			specs: []spec{
				stepOp(0, 0, 10).in(1), stepOp(0, 10, 20).in(2), stepOp(0, second+20, second+30).in(1), stepOp(0, 2*second+31, 2*second+32).in(2),
				stepOp(1, 9*second, 9*second+10).in(2), stepOp(1, 11*second, 11*second+10).in(2),
			},
			want: []Step{
				stepRow(0, 1, 3, 30, second+30, 30), stepRow(0, 2, 1, 1, 1, 1), stepRow(1, 1, 2, 20, 2*second+10, 20),
			},
		},
		{
			name: "ranks meet in their order",
			specs: []spec{
				stepOp(0, 0, 10).onRank(0), stepOp(1, 10, 20).onRank(0), stepOp(0, 100, 110).onRank(0), stepOp(1, 110, 120).onRank(0),
				stepOp(0, 12, 22).onRank(1), stepOp(1, 22, 32).onRank(1), stepOp(0, 112, 122).onRank(1), stepOp(1, 122, 132).onRank(1),
			},
			want: []Step{stepRow(0, 1, 2, 20, 22, 20), stepRow(0, 2, 2, 20, 22, 20), stepRow(1, 1, 2, 20, 22, 20), stepRow(1, 2, 2, 20, 22, 20)},
		},
		{
			name: "a rank that misses the first run",
			specs: []spec{
				stepOp(0, 0, 10).onRank(0), stepOp(1, 10, 20).onRank(0), stepOp(0, 100, 110).onRank(0), stepOp(1, 110, 120).onRank(0),
				stepOp(0, 97, 99).onRank(1), stepOp(1, 122, 132).onRank(1),
			},
			want: []Step{stepRow(0, 1, 1, 10, 10, 10), stepRow(0, 2, 2, 12, 13, 12), stepRow(1, 1, 1, 10, 10, 10), stepRow(1, 2, 2, 20, 22, 20)},
		},
		{
			name: "a rank that misses the last run",
			specs: []spec{
				stepOp(0, 0, 10).onRank(0), stepOp(1, 10, 20).onRank(0), stepOp(0, 100, 110).onRank(0), stepOp(1, 110, 120).onRank(0),
				stepOp(0, 12, 22).onRank(1), stepOp(1, 22, 32).onRank(1),
			},
			want: []Step{stepRow(0, 1, 2, 20, 22, 20), stepRow(0, 2, 1, 10, 10, 10), stepRow(1, 1, 2, 20, 22, 20), stepRow(1, 2, 1, 10, 10, 10)},
		},
		{
			name: "one rank before a restart and another behind it, in traces of their own",
			specs: []spec{
				stepOp(0, 0, 10).onRank(0), stepOp(0, 10, 20).onRank(0), stepOp(0, 3600*second, 3600*second+10).onRank(1).in(2),
			},
			want: []Step{stepRow(0, 1, 2, 20, 20, 20), stepRow(0, 2, 1, 10, 10, 10)},
		},
		{
			name: "ranks of one request meet first, and then those below a root of their own",
			specs: []spec{
				spanAt("GET /", 1, 0, 0, 100), spanAt("GET /", 2, 0, 0, 100).in(2),
				opAt("a", 3, 1, 0, 10).inStep(0).onRank(0), opAt("a", 4, 2, 1, 11).inStep(0).in(2).onRank(0),
				opAt("a", 5, 2, 2, 12).inStep(0).in(2).onRank(1), opAt("a", 6, 1, 13, 14).inStep(0).onRank(1),
				spanAt("train", 7, 0, 0, 100).in(3), opAt("a", 8, 7, 5, 15).inStep(0).in(3).onRank(2),
			},
			want: []Step{stepRow(0, 1, 3, 21, 15, 15), stepRow(0, 2, 2, 20, 11, 11)},
		},
		{
			name: "operations without a start are of the first iteration of their request",
			specs: []spec{
				spanAt("GET /", 1, 0, 0, 100), opAt("a", 3, 1, 50, 60).inStep(0), opAt("a", 4, 1, 0, 7).inStep(0).withoutStart().onRank(1),
				stepOp(0, 0, 10), stepOp(0, 0, 5).withoutStart(), stepOp(3, 0, 1).withoutStart(), opAt("a", 6, 1, 0, 2).inStep(3).withoutStart(),
			},
			want: []Step{
				stepRow(0, 1, 2, 15, 10, 10),
				stepRow(0, 2, 2, 17, 10, 10), {Step: 3, Run: 1, Count: 1, SumNS: 1}, {Step: 3, Run: 2, Count: 1, SumNS: 2},
			},
		},
		{
			name: "the ends of time",
			specs: []spec{
				stepOp(0, -maxTime, -maxTime+1), stepOp(0, maxTime-1, maxTime).in(2), stepOp(0, maxTime-1, maxTime).in(2),
			},
			want: []Step{stepRow(0, 1, 1, 1, 1, 1), stepRow(0, 2, 2, 2, 1, 1)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, addTo(NewForest(), tt.specs...).stepRows()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// The rows share out the operations that have a step, each service's among its
// own, whatever the structure is like.
func TestStepsShareOutTheOperations(t *testing.T) {
	type sums struct{ count, ns int64 }
	type key struct {
		service string
		step    int64
	}
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, r.IntN(60))
		rows := addTo(NewForest(), specs...).stepRows()
		if rows == nil {
			return
		}
		want, got := make(map[key]sums), make(map[key]sums)
		for _, s := range specs {
			if s.deviceSide() && s.step.Known {
				sum := want[key{s.service, s.step.V}]
				want[key{s.service, s.step.V}] = sums{sum.count + 1, sum.ns + s.end - s.start}
			}
		}
		for _, row := range rows {
			sum := got[key{row.Service, row.Step}]
			got[key{row.Service, row.Step}] = sums{sum.count + row.Count, sum.ns + row.SumNS}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(sums{})); diff != "" {
			t.Errorf("seed %d: sums (-operations +rows):\n%s", seed, diff)
		}
	})
}

func TestStepsAgainstNaive(t *testing.T) {
	cases.Seeds(t, 400, func(seed uint64, r *rand.Rand) {
		specs := randomLoops(r)
		if diff := cmp.Diff(naiveSteps(specs), addTo(NewForest(), specs...).stepRows()); diff != "" {
			t.Errorf("seed %d: steps (-naive +got):\n%s", seed, diff)
		}
	})
}

// randomLoops has loops of several services and ranks, below two requests or
// none, that begin again, pause, overlap and lack operations.
func randomLoops(r *rand.Rand) []spec {
	specs := []spec{spanAt("GET /a", 1, 0, 0, 10), spanAt("GET /b", 2, 0, 0, 10).in(2)}
	for range 1 + r.IntN(6) {
		at := r.Int64N(4000)
		service, rank, trace, parent := pick(r, "", "", "api"), op.Int{}, byte(3+r.IntN(3)), uint64(0)
		device := pick(r, "cuda:0", "cuda:1")
		if r.IntN(2) == 0 {
			rank = op.Known(r.Int64N(3))
		}
		if request := byte(r.IntN(5)); request == 1 || request == 2 {
			trace, parent = request, uint64(request)
		}
		for step := range r.Int64N(4) {
			for range r.IntN(4) {
				s := opAt("a", 10+uint64(len(specs)), parent, at, at+r.Int64N(600)).of(service).in(trace).inStep(step)
				s.rank, s.device, s.timeless = rank, device, r.IntN(15) == 0
				s.start, s.end = s.start*1_000_000, s.end*1_000_000
				at += r.Int64N(700)
				specs = append(specs, s)
			}
		}
	}
	return specs
}
