package analyze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/stacks"
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
	opts.By = randomKeys(r)
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
		for _, r := range []*Report{want, got} { // a replay takes operations of one time in the order of the input
			r.Findings = slices.DeleteFunc(r.Findings, func(f findings.Finding) bool { return f.Advice != "" })
		}
		check.Equal(t, fmt.Sprintf("seed %d", seed), want, got, tracetest.EqualKeys,
			cmpopts.IgnoreFields(Report{}, "Slowest"), cmpopts.IgnoreFields(Memory{}, "Hotspots")) // in input order
	}
}

// A device name used by several services counts as several devices, as if they had different names.
func TestSharedDevicesAreSeparate(t *testing.T) {
	cases.Seeds(t, 20, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(60))
		for i := range specs {
			specs[i].Service = tracetest.Pick(r, "", "a", "b", "c")
			if specs[i].IsOp && r.IntN(3) > 0 {
				specs[i].Device = tracetest.Pick(r, "fpga:0", "fpga:1", "fpga:2", "fpga:3") // no accelerator is renamed
			}
		}
		renamed := slices.Clone(specs)
		for i, s := range specs {
			if s.IsOp && tracetest.ServicesOf(specs, s.Device) > 1 && !s.Rank.Known && s.Service != "" &&
				s.Device != "" {
				renamed[i].Device = s.Service + " " + s.Device
			}
			renamed[i].Service = ""
		}
		want := collected(r, plainRecords(renamed), Options{}, 1)
		for workers := 1; workers <= 3; workers++ {
			got := collected(r, plainRecords(specs), Options{}, workers)
			check.Equal(t, fmt.Sprintf("seed %d, %d workers", seed, workers), renamedJSON(t, want), renamedJSON(t, got))
		}
		for i := range specs { // operators only launch operations of their service
			specs[i].Launch = op.Int{}
			renamed[i].Launch = op.Int{}
		}
		var collapsed, renamedStacks bytes.Buffer
		check.OK(t, stacks.WriteForest(tracetest.AddTo(trace.New(), specs...), &collapsed))
		check.OK(t, stacks.WriteForest(tracetest.AddTo(trace.New(), renamed...), &renamedStacks))
		check.Equal(t, fmt.Sprintf("seed %d: stacks", seed), renamedStacks.String(), collapsed.String())
	})
}

func plainRecords(specs []tracetest.Spec) []op.Record {
	var records []op.Record
	for _, s := range specs {
		records = append(records, s.Record())
	}
	return records
}

// renamedJSON returns the report's JSON with services merged into device names and rows of devices sorted by text. It
// omits figures about spans, whose services are missing too, and lists ordered by name.
func renamedJSON(t *testing.T, r *Report) any {
	t.Helper()
	r.Findings = nil
	r.Operators = nil
	r.Slowest = nil
	r.Idle = nil
	r.Steps = nil
	r.Coverage, r.Headline = nil, nil // steps are counted for each service
	r.Memory.Hotspots = nil
	delete(r.Input.Warnings, warnDeviceShared)
	if slow := r.SlowestRequest; slow != nil {
		slow.Service = ""
		slow.Alike = 0
		slow.MedianNS = 0
	}
	var all any
	check.OK(t, json.Unmarshal(reportJSON(t, r), &all))
	var rename func(v any) (isDevice bool)
	rename = func(v any) (isDevice bool) {
		switch v := v.(type) {
		case []any:
			for _, row := range v {
				isDevice = rename(row) || isDevice
			}
			if isDevice {
				slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
			return false
		case map[string]any:
			for _, member := range v {
				rename(member)
			}
			if _, isDevice = v["device_id"]; v["service"] != nil && isDevice {
				v["device_id"] = fmt.Sprint(v["service"], " ", v["device_id"])
				delete(v, "service")
			}
		}
		return isDevice
	}
	rename(all)
	return all
}

// randomKeys returns some of the keys of -by.
func randomKeys(r *rand.Rand) (list []key.Key) {
	for _, name := range []string{"operation", "kind", "device", "rank", "shape", "step", "root", "trace", "error",
		"attr:layer"} {
		if r.IntN(4) == 0 {
			list = append(list, tracetest.Keys(name)...)
		}
	}
	return list
}
