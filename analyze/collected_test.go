package analyze

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// collected returns the report on records, read in random parts by several workers.
func collected(r *rand.Rand, records []op.Record, opts Options, workers int) *Report {
	collectors := make([]*collector, workers)
	for i := range collectors {
		collectors[i] = newCollector(opts)
	}
	for part := int64(0); len(records) > 0; part++ {
		n := 1 + r.IntN(min(20, (len(records)+1)/2))
		c := collectors[r.IntN(workers)]
		c.startPart(0, part)
		for _, rec := range records[:n] {
			c.add(rec, nil)
		}
		records = records[n:]
	}
	return mergeCollectors(collectors...).report()
}

// withRepeats returns records with later copies of some.
func withRepeats(r *rand.Rand, records []op.Record) []op.Record {
	all := slices.Clone(records)
	for _, rec := range records {
		id := op.SpanID{}
		switch {
		case rec.Entry != nil && !rec.Entry.TraceID.IsZero():
			id = rec.Entry.SpanID
		case rec.Span != nil && !rec.Span.TraceID.IsZero():
			id = rec.Span.SpanID
		}
		for range r.IntN(3) {
			if !id.IsZero() {
				first := slices.Index(all, rec)
				all = slices.Insert(all, first+1+r.IntN(len(all)-first), rec)
			}
		}
	}
	return all
}

// Repeated records count once in every figure, in any position and for any worker.
func TestRepeatsCountOnce(t *testing.T) {
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(40))
		records := tracetest.RecordsOf(r, specs)
		repeated := withRepeats(r, records)
		opts := randomOptions(r)
		want := collected(r, records, opts, 1)
		for workers := 1; workers <= 3; workers++ {
			got := collected(r, repeated, opts, workers)
			if n := int64(len(repeated)-len(records)) + want.Input.Repeated.V; got.Input.Repeated != op.Known(n) {
				t.Errorf("seed %d: %v repeated, want %d", seed, got.Input.Repeated, n)
			}
			input := cmpopts.IgnoreFields(Report{}, "Input")
			if want.Input.Entries == 0 {
				input = cmpopts.IgnoreFields(Report{}, "Input", "Findings") // findings count spans
			}
			if diff := cmp.Diff(want, got, tracetest.EqualKeys, input); diff != "" {
				t.Fatalf("seed %d, %d workers, by %v (-once +repeated):\n%s", seed, workers, opts.By, diff)
			}
		}
	})
}

// An operation without a stamp belongs to the group of its local root in the tree. All figures are as with the stamp.
func TestGroupsByRoot(t *testing.T) {
	cases.Seeds(t, 20, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(40))
		naive := tracetest.NewNaiveTree(specs)
		roots := make([]string, len(specs))
		for i := range specs {
			specs[i].Root = ""
			specs[i].RootID = 0
			specs[i].Links = nil // a stamp may create a request for them
		}
		plain := tracetest.RecordsOf(r, specs)
		stamped := slices.Clone(plain)
		some := slices.Clone(plain)
		for i, rec := range plain {
			if rec.Entry == nil {
				continue
			}
			roots[i] = root(naive, i)
			e := *rec.Entry
			e.Root = roots[i]
			stamped[i].Entry = &e
			if r.IntN(2) == 0 {
				some[i].Entry = &e
			}
		}
		opts := randomOptions(r)
		opts.By = append(tracetest.Keys("root"),
			slices.DeleteFunc(opts.By, func(k key.Key) bool { return k == key.Root })...)
		r.Shuffle(len(opts.By), func(i, j int) { opts.By[i], opts.By[j] = opts.By[j], opts.By[i] })
		// A root name without a span stands for its own request and so affects steps and their findings.
		lists := cmp.Options{cmpopts.IgnoreFields(Report{}, "Slowest", "Steps", "Findings"),
			cmpopts.IgnoreFields(Memory{}, "Hotspots")}
		for _, opts.SumsOnly = range []bool{false, true} {
			want := collected(r, stamped, opts, 1)
			for workers := 1; workers <= 3; workers++ {
				for _, records := range [][]op.Record{plain, some} {
					if diff := cmp.Diff(want, collected(r, records, opts, workers), tracetest.EqualKeys,
						lists); diff != "" {
						t.Fatalf("seed %d, %d workers, by %v, limit %d (-stamped +plain):\n%s", seed, workers,
							opts.By, opts.MaxGroups, diff)
					}
				}
			}
		}
	})
}

// Each group has the self times of its operations, for all keys.
func TestGroupSelfTimesAgainstNaive(t *testing.T) {
	cases.Seeds(t, 60, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(40))
		records := tracetest.RecordsOf(r, specs)
		opts := Options{By: tracetest.Keys(key.Names()[r.IntN(len(key.Names()))] + ",attr:layer")}
		if opts.By[0].NeedsTree() { // unknown from the entry alone
			opts.By[0] = tracetest.Keys("service")[0]
		}
		naive := tracetest.NewNaiveTree(specs)
		want := make(map[string]int64)
		for i, rec := range records {
			if e := rec.Entry; e != nil && !naive.Repeat[i] {
				key := key.Group{Keys: opts.By, Values: key.Of(opts.By, e)}
				want[e.Side.String()+"|"+key.String()] += naive.Self(i)
			}
		}
		got := make(map[string]int64)
		for _, g := range collected(r, records, opts, 2).Groups {
			got[g.Side+"|"+g.Key.String()] = g.SelfNS.V
		}
		check.Equal(t, fmt.Sprintf("seed %d, by %v", seed, opts.By), want, got)
	})
}

// root returns the name of the local root of spec i, "" if unknown.
func root(n *tracetest.NaiveTree, i int) string {
	if n.Duplicate[i] {
		i = n.LookUp(n.Specs[i].Trace, n.Specs[i].ID)
	}
	for n.Parent[i] >= 0 && (n.Specs[i].IsOp || !n.Specs[i].Remote) {
		i = n.Parent[i]
	}
	s := n.Specs[i]
	if s.IsOp && (s.ID == 0 || s.Parent != 0 && n.LookUp(s.Trace, s.Parent) < 0) {
		return ""
	}
	return s.Name
}

// randomOptions groups by several keys, often with too few rows.
func randomOptions(r *rand.Rand) Options {
	opts := Options{Peaks: tracetest.TestPeaks()}
	opts.Top = r.IntN(9) - 1
	opts.HotspotBytes = int64(r.IntN(40)) - 1
	if r.IntN(2) == 0 {
		opts.MaxGroups = 1 + r.IntN(6)
	}
	opts.By = tracetest.RandomKeys(r)
	return opts
}

// The report is byte for byte the same as of a single reader, for any distribution of parts over workers.
func TestReportDoesNotDependOnWorkers(t *testing.T) {
	const files = 3
	cases.Seeds(t, 60, func(seed uint64, r *rand.Rand) {
		opts := randomOptions(r)
		limit := trace.MaxRows
		n := 1 + r.IntN(300)
		if r.IntN(3) == 0 {
			limit = 1 + r.IntN(n)
		}
		newLimited := func() *collector {
			c := newCollector(opts)
			c.forest = trace.NewLimited(limit)
			return c
		}
		whole := newLimited()
		workers := make([]*collector, 1+r.IntN(4))
		for i := range workers {
			workers[i] = newLimited()
		}
		part := int64(0)
		for file := range files {
			worker := workers[0]
			for i, ev := range randomEvents(r, r.IntN(n+1)) {
				if i == 0 || r.IntN(20) == 0 {
					worker = workers[r.IntN(len(workers))]
					worker.startPart(int64(file), part)
					part++
				}
				whole.add(ev.rec, ev.err)
				worker.add(ev.rec, ev.err)
			}
			whole.counter.endFile("entries-jsonl", int64(file))
		}
		r.Shuffle(len(workers), func(i, j int) { workers[i], workers[j] = workers[j], workers[i] })
		merged := mergeCollectors(workers...)
		merged.counter.endFiles(func(yield func(string, int64) bool) {
			for file := range files {
				yield("entries-jsonl", int64(file))
			}
		})
		want, got := reportJSON(t, whole.report()), reportJSON(t, merged.report())
		if !bytes.Equal(want, got) {
			t.Errorf("seed %d: %d workers:\n%s", seed, len(workers), cmp.Diff(string(want), string(got)))
		}
		if a, b := whole.forest.Structure(), merged.forest.Structure(); a != b {
			t.Errorf("seed %d: structure %+v, want %+v", seed, b, a)
		}
	})
}

// randomEvents returns n events that a reader may produce.
func randomEvents(r *rand.Rand, n int) []event {
	events := make([]event, n)
	for i, rec := range tracetest.RecordsOf(r, tracetest.RandomSpecs(r, n)) {
		if e := rec.Entry; e != nil {
			e.LaunchedBy = "" // beyond the limit the name is known only in a single pass
		}
		if e := rec.Entry; e != nil && e.Kind == op.KindCollective && r.IntN(2) == 0 {
			e.Collective = &op.Collective{
				Name: tracetest.Pick(r, "all_reduce", "broadcast"), Group: tracetest.Pick(r, "", "dp"),
				Sequence: tracetest.Pick(r, op.Int{}, op.Known(r.Int64N(5))),
			}
		}
		if events[i].rec = rec; r.IntN(12) == 0 {
			events[i] = randomEvent(r, i%3, i)
		}
	}
	return events
}

// With RecordedFLOPs only recorded FLOPs count.
func TestRecordedFLOPs(t *testing.T) {
	for _, recorded := range []op.Int{{}, op.Known(7)} {
		e := &op.Entry{
			Operation: "add", Kind: op.KindCompute, Duration: 10, DType: op.F32,
			InputDTypes: []op.DType{op.F32, op.F32},
			InputShapes: []op.Shape{{5, 7}, {5, 7}}, OutputShape: op.Shape{5, 7}, FLOPs: recorded,
		}
		records := func(yield func(op.Record, error) bool) { yield(op.Record{Entry: e}, nil) }
		for _, opts := range []Options{{RecordedFLOPs: true}, {RecordedFLOPs: true, SumsOnly: true}} {
			r := check.Must(Run(t.Context(), Records(records), opts))(t)
			if got := r.Total.FLOPs; got != recorded.V || r.Total.FLOPsDerivedCount != 0 || r.Total.MovedBytes.Known {
				t.Errorf("recorded %v: %d FLOPs, %d derived, %v bytes moved", recorded, got,
					r.Total.FLOPsDerivedCount, r.Total.MovedBytes)
			}
		}
	}
}
