package replay_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/causes"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func forestOf(records []op.Record) *trace.Forest {
	f := trace.New()
	for _, rec := range records {
		f.Add(rec)
	}
	return f
}

// The truth is a simulation of the same server without the culprit, for the three largest culprits of each run.
func TestBlameEqualsASimulationWithoutTheCulprit(t *testing.T) {
	var errors []float64
	within := 0
	for seed := range cases.Numbers(t, 1000) {
		layout := causes.ServerLayouts[seed%2]
		cause := []string{"long_prompt", "overload", ""}[seed%3]
		strength := 0.1 + 0.1*float64(seed%5)
		records, recorded := causes.Serve(cause, layout, strength, seed)
		f := forestOf(records)
		b := replay.New(f).Blame(nil)
		for _, c := range b.Culprits[:min(len(b.Culprits), 3)] {
			_, without := causes.Serve(cause, layout, strength, seed, int(f.Node(c.Row).TraceID()[15])-1)
			for _, row := range b.Rows {
				id := f.Node(row.Victim.Row).TraceID()
				truth := float64(recorded[id] - without[id])
				if row.Culprit == nil || row.Culprit.Row != c.Row || max(truth,
					float64(row.NS)) < 0.05*float64(recorded[id]) {
					continue
				}
				errors = append(errors, math.Abs(float64(row.NS)-truth)/max(1, math.Abs(truth)))
				if float64(row.LowNS) <= truth && truth <= float64(row.HighNS) {
					within++
				}
			}
		}
	}
	slices.Sort(errors)
	n := len(errors)
	if n == 0 {
		t.Fatal("no blame")
	}
	t.Logf("%d delays: median error %.3f, p90 %.3f; %d within bounds", n, errors[n/2], errors[n*9/10], within)
	wrong, right := 0.15, 93
	if !cases.All() { // few servers, whose delays are alike: of 50 up to 14 have wrong ones, of all an eighth
		wrong, right = 0.5, 80
	}
	if errors[n*9/10] > wrong || 100*within < right*n {
		t.Errorf("more than a tenth is wrong by more than %g, or less than %d %% are within bounds", wrong, right)
	}
}

// Requests take turns on a device in the order of their launches.
func TestBlameOfRequestsOnOneDeviceEqualsASimulation(t *testing.T) {
	type request struct{ arrival, work, end int64 }
	run := func(all []request, without int) {
		free := int64(0)
		for i := range all {
			q := &all[i]
			q.end = q.arrival
			if i != without {
				q.end = max(q.arrival+10, free) + q.work
				free = q.end
			}
		}
	}
	cases.Inputs(t, 100, 1000, func(seed uint64, r *rand.Rand) {
		all := make([]request, 3+r.IntN(8))
		at := int64(0)
		for i := range all {
			at += r.Int64N(1_500_000)
			all[i] = request{arrival: at, work: 100_000 + r.Int64N(2_000_000)}
		}
		run(all, -1)
		f := trace.New()
		for i, q := range all {
			id := op.TraceID{15: byte(i + 1)}
			root := op.SpanID{7: byte(i + 1)}
			f.Add(op.Record{Span: &op.Span{
				Name: "POST /predict", Service: "api", TraceID: id, SpanID: root, Start: op.Known(1e18 + q.arrival),
				Duration: q.end - q.arrival,
			}})
			f.Add(op.Record{Entry: &op.Entry{
				Operation: "matmul", DeviceID: "cuda:0", Stream: op.Known(0), TraceID: id, ParentSpanID: root,
				SpanID: op.SpanID{0: 1, 7: byte(i)}, Service: "api", Launch: op.Known(1e18 + q.arrival),
				Start: op.Known(1e18 + q.end - q.work), Duration: q.work,
			}})
		}
		waited := make(map[int32]int64)
		for _, row := range replay.New(f).Blame(nil).Rows {
			waited[row.Victim.Row] += row.NS
			if row.Culprit == nil {
				continue
			}
			victim := int(f.Node(row.Victim.Row).TraceID()[15]) - 1
			without := slices.Clone(all)
			run(without, int(f.Node(row.Culprit.Row).TraceID()[15])-1)
			if d := all[victim].end - without[victim].end - row.NS; max(d, -d) > 20_000 {
				t.Errorf("seed %d: request %d waited %d ns, not %d", seed, victim, row.NS,
					all[victim].end-without[victim].end)
			}
		}
		for row, ns := range waited { // what it waited is the time beyond its own
			q := &all[int(f.Node(row).TraceID()[15])-1]
			if d := q.end - q.arrival - q.work - ns; max(d, -d) > 20_000 {
				t.Errorf("seed %d: the rows of a request add up to %d ns, not %d", seed, ns, q.end-q.arrival-q.work)
			}
		}
	})
}

// A step for a request that was not read, and an operation without a request, have no culprit but a name.
func TestBlameNamesWorkWithoutARequest(t *testing.T) {
	f := trace.New()
	f.Add(op.Record{Span: &op.Span{
		Name: "POST /predict", TraceID: op.TraceID{1}, SpanID: op.SpanID{1}, Start: op.Known(1_000_000), Duration: 9_000_000,
	}})
	for i, e := range []op.Entry{
		{Operation: "backup", Start: op.Known(1_000_000), Duration: 6_000_000},
		{Operation: "matmul", Start: op.Known(7_001_000), Duration: 2_900_000, TraceID: op.TraceID{1},
			ParentSpanID: op.SpanID{1}},
	} {
		e.DeviceID = "cuda:0"
		e.Launch = op.Known(1_000_000)
		e.Stream = op.Known(0)
		e.SpanID = op.SpanID{7: byte(1 + i)}
		f.Add(op.Record{Entry: &e})
	}
	b := replay.New(f).Blame(nil)
	if len(b.Rows) == 0 || b.Rows[0].Culprit.Step != "backup" || b.Rows[0].NS < 5_900_000 {
		t.Errorf("blame %+v", b.Rows)
	}
	check.Equal(t, "culprits", 0, len(b.Culprits))
}

// The truth is the busy time of a simulation without the request.
func TestSavedEqualsTheBusyTimeOfASimulationWithoutTheRequest(t *testing.T) {
	busy := func(records []op.Record) (ns int64) {
		for _, rec := range records {
			if rec.Entry != nil {
				ns += rec.Entry.Duration
			}
		}
		return ns
	}
	var off []float64
	var allSaid, allTrue float64
	for n := range cases.Some(t, 30, 100) {
		seed := uint64(n)
		layout := causes.ServerLayouts[seed%2]
		cause := []string{"long_prompt", "overload", ""}[seed%3]
		records, _ := causes.Serve(cause, layout, 0.3, seed)
		f := forestOf(records)
		var said, truth float64
		for row, ns := range replay.New(f).SavedByRequest(f.Duration) {
			if number := int(f.Node(row).TraceID()[15]) - 1; number%8 == 0 {
				without, _ := causes.Serve(cause, layout, 0.3, seed, number)
				said += float64(ns)
				truth += float64(busy(records) - busy(without))
			}
		}
		off = append(off, math.Abs(said-truth)/truth)
		allSaid += said
		allTrue += truth
	}
	slices.Sort(off)
	t.Logf("%d runs: median error %.3f, p90 %.3f; together %.3f of the truth", len(off), off[len(off)/2],
		off[len(off)*9/10], allSaid/allTrue)
	middle, together := 0.15, 0.08
	if len(off) < 100 {
		middle, together = 0.25, 0.25
	}
	if off[len(off)/2] > middle || math.Abs(allSaid/allTrue-1) > together {
		t.Errorf("half of the runs are wrong by more than %.0f %%, or all together by more than %.0f %%", 100*middle, 100*together)
	}
}

// An operation names its request, whose span may be missing: it has no name, and is no culprit.
func TestARequestThatWasNotReadIsNoCulprit(t *testing.T) {
	f := trace.New()
	f.Add(op.Record{Span: &op.Span{
		Name: "POST", TraceID: op.TraceID{1}, SpanID: op.SpanID{1}, Start: op.Known(int64(0)), Duration: 10_000_000,
	}})
	for i, at := range []int64{0, 6_001_000} {
		e := op.Entry{
			Operation: "matmul", DeviceID: "cuda:0", Start: op.Known(at), Duration: 3_000_000, SpanID: op.SpanID{7: byte(i + 1)},
			Launch: op.Known(int64(0)), Stream: op.Known(int64(0)), TraceID: op.TraceID{byte(2 - i)}, Root: "POST",
			RootSpanID: op.SpanID{1}, ParentSpanID: op.SpanID{1},
		}
		if i == 0 {
			e.Duration = 6_000_000
		}
		f.Add(op.Record{Entry: &e})
	}
	if b := replay.New(f).Blame(nil); len(b.Culprits) > 0 {
		t.Errorf("culprits %+v", b.Culprits)
	}
}
