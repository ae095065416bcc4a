package analyze

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/internal/random"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
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
				entries[i].DeviceID = UnknownDevice
			}
			if weighted && r.IntN(50) > 0 {
				entries[i].AdjustedCount = 1 / (1 - r.Float64())
			}
		}
		opts := randomOptions(r)
		if r.IntN(2) == 0 { // with several keys of each form
			opts.By = opts.By[:0]
			for _, k := range r.Perm(len(keyNames))[:4] {
				opts.By = append(opts.By, Key{field: keyField(k)})
			}
		}
		base, want := NewProfile(opts), NewProfile(opts)
		forests := make([]*Forest, 1+r.IntN(4))
		for i := range forests {
			forests[i] = NewForest()
			forests[i].groupBy(opts.By)
			forests[i].works = newWorkFinder(opts)
		}
		kept := make([]bool, len(entries))
		for i := range entries {
			base.Add(&entries[i])
			part := forests[i*len(forests)/len(entries)]
			part.startPart(int64(i / 7))
			part.Add(op.Record{Entry: &entries[i]})
			if kept[i] = r.IntN(3) > 0; kept[i] {
				want.Add(&entries[i])
			}
		}
		forests[0].take(forests[1:])
		forests[0].build()
		got := forests[0].profile(base, func(row int32) bool { return kept[row] }).Report()
		ignored := cmp.Options{equalReports, cmpopts.IgnoreFields(Report{}, "Slowest"), cmpopts.IgnoreFields(Memory{}, "Hotspots")}
		if !slices.Contains(opts.By, Key{field: byRoot}) {
			ignored = append(ignored, cmpopts.IgnoreFields(Stats{}, "Mixes"))
		}
		if diff := cmp.Diff(want.Report(), got, ignored); diff != "" {
			t.Errorf("seed %d, by %v (-profile +forest):\n%s", seed, opts.By, diff)
		}
		all := forests[0].profile(base, func(int32) bool { return true }).Report()
		if diff := cmp.Diff(base.Report(), all, equalReports); diff != "" {
			t.Errorf("seed %d, by %v: all operations (-profile +forest):\n%s", seed, opts.By, diff)
		}
	})
}

// recordsOf returns the records of specs, with shapes and attributes for the ops.
func recordsOf(r *rand.Rand, specs []spec) []op.Record {
	var records []op.Record
	for i, s := range specs {
		if !s.isOp {
			records = append(records, op.Record{Span: s.span()})
			continue
		}
		e, more := s.entry(), random.Entry(r, i)
		e.OutputShape, e.InputShapes, e.DType, e.InputDTypes = more.OutputShape, more.InputShapes, more.DType, more.InputDTypes
		e.FLOPs, e.OutputElements, e.Attrs, e.Failed = more.FLOPs, more.OutputElements, more.Attrs, more.Failed
		records = append(records, op.Record{Entry: e})
	}
	return records
}

// collected returns the report on records, read by some workers in some parts.
func collected(r *rand.Rand, records []op.Record, opts Options, workers int) *Report {
	collectors := make([]*collector, workers)
	for i := range collectors {
		collectors[i] = newCollector(opts)
	}
	for part := int64(0); len(records) > 0; part++ {
		n := min(1+r.IntN(20), len(records))
		c := collectors[r.IntN(workers)]
		c.startPart(0, part)
		for _, rec := range records[:n] {
			c.add(rec, nil)
		}
		records = records[n:]
	}
	return mergeCollectors(collectors...).report()
}

// withRepeats returns the records with copies of some behind them.
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

// Records that are there several times count once in every figure, wherever they
// stand and whichever worker reads them.
func TestRepeatsCountOnce(t *testing.T) {
	cases.Seeds(t, 50, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, r.IntN(40))
		records := recordsOf(r, specs)
		repeated := withRepeats(r, records)
		opts := randomOptions(r)
		want := collected(r, records, opts, 1)
		for workers := 1; workers <= 3; workers++ {
			got := collected(r, repeated, opts, workers)
			if n := int64(len(repeated)-len(records)) + want.Input.Repeated.V; got.Input.Repeated != op.Known(n) {
				t.Errorf("seed %d: %v repeated, want %d", seed, got.Input.Repeated, n)
			}
			input := cmpopts.IgnoreFields(Report{}, "Input")
			if diff := cmp.Diff(want, got, equalReports, input); diff != "" {
				t.Fatalf("seed %d, %d workers, by %v (-once +repeated):\n%s", seed, workers, opts.By, diff)
			}
		}
	})
}

// The sums and the self times are over the same operations.
func TestSelfTimeIsWithinSum(t *testing.T) {
	cases.Seeds(t, 60, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, r.IntN(40))
		for i := range specs { // with ids that are there many times
			specs[i].id, specs[i].trace = specs[i].id%8, 1
		}
		rep := collected(r, withRepeats(r, recordsOf(r, specs)), Options{By: []Key{{field: byStep}, {field: byRoot}}}, 2)
		naive := newNaiveTree(specs)
		sum, self := int64(0), int64(0)
		for i, s := range specs {
			if s.isOp && !naive.repeat[i] {
				sum += s.end - s.start
				self += naive.self(i)
			}
		}
		operations, groups := [2]int64{}, [2]int64{}
		for _, row := range rep.Operations {
			operations[0] += row.SumNS
			operations[1] += row.SelfNS.V
			if row.SelfNS.V > row.SumNS {
				t.Errorf("seed %d: %s: self %d of %d", seed, row.Operation, row.SelfNS.V, row.SumNS)
			}
		}
		for _, row := range rep.Groups {
			groups[0] += row.SumNS
			groups[1] += row.SelfNS.V
		}
		if want := [2]int64{sum, self}; operations != want || groups != want {
			t.Errorf("seed %d: sum and self %d of operations, %d of groups, want %d", seed, operations, groups, want)
		}
	})
}

// root returns the name of the local root of spec i, "" where it is not known.
func (n *naiveTree) root(i int) string {
	if n.duplicate[i] {
		i = n.lookUp(n.specs[i].trace, n.specs[i].id)
	}
	for n.parent[i] >= 0 && (n.specs[i].isOp || !n.specs[i].remote) {
		i = n.parent[i]
	}
	s := n.specs[i]
	if s.isOp && (s.id == 0 || s.parent != 0 && n.lookUp(s.trace, s.parent) < 0) {
		return ""
	}
	return s.name
}

// Operations without a stamp are in the group of the local root that the tree
// tells, and all figures are as if the stamp had been there.
func TestGroupsByRoot(t *testing.T) {
	cases.Seeds(t, 20, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, r.IntN(40))
		naive := newNaiveTree(specs)
		roots := make([]string, len(specs))
		for i := range specs {
			specs[i].root, specs[i].rootID = "", 0
			specs[i].links = nil // a stamp may make a request that they lead to
		}
		plain := recordsOf(r, specs)
		stamped, some := slices.Clone(plain), slices.Clone(plain)
		for i, rec := range plain {
			if rec.Entry == nil {
				continue
			}
			roots[i] = naive.root(i)
			e := *rec.Entry
			e.Root = roots[i]
			stamped[i].Entry = &e
			if r.IntN(2) == 0 {
				some[i].Entry = &e
			}
		}
		opts := randomOptions(r)
		opts.By = append([]Key{{field: byRoot}}, slices.DeleteFunc(opts.By, func(k Key) bool { return k.field == byRoot })...)
		r.Shuffle(len(opts.By), func(i, j int) { opts.By[i], opts.By[j] = opts.By[j], opts.By[i] })
		// A name alone that no span has stands for a request of its own, which tells steps apart.
		lists := cmp.Options{cmpopts.IgnoreFields(Report{}, "Slowest", "Steps"), cmpopts.IgnoreFields(Memory{}, "Hotspots")}
		for _, opts.SumsOnly = range []bool{false, true} {
			want := collected(r, stamped, opts, 1)
			for workers := 1; workers <= 3; workers++ {
				for _, records := range [][]op.Record{plain, some} {
					if diff := cmp.Diff(want, collected(r, records, opts, workers), equalReports, lists); diff != "" {
						t.Fatalf("seed %d, %d workers, by %v, limit %d (-stamped +plain):\n%s", seed, workers, opts.By, opts.MaxGroups, diff)
					}
				}
			}
		}
	})
}

// The operations of a request are in the group of its name, those of a shared
// execution in that of the execution.
func TestGroupsByRootAgreeWithRequests(t *testing.T) {
	cases.Seeds(t, 150, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, r.IntN(40))
		forest := NewForest()
		forest.groupBy([]Key{{field: byKind}, {field: byRoot}})
		for _, s := range specs {
			s.root, s.rootID = "", 0
			s.addTo(forest)
		}
		forest.fillRoots()
		requests := forest.Requests()
		for i := range requests.List {
			for n := range requests.List[i].Operations() {
				values := cutKeys(forest.dict.groups.Values[forest.group(n.row)], forest.by)
				if values[1].Text != requests.List[i].Name {
					t.Errorf("seed %d: %s is in the group %q, its request is %q", seed, n.Name(), values[1], requests.List[i].Name)
				}
			}
		}
	})
}

// Each group has the self times of its operations, whatever the keys.
func TestGroupSelfTimesAgainstNaive(t *testing.T) {
	cases.Seeds(t, 60, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, r.IntN(40))
		records := recordsOf(r, specs)
		opts := Options{By: []Key{{field: keyField(r.IntN(len(keyNames)))}, {field: byAttr, attr: "layer"}}}
		if opts.By[0].field == byRoot {
			opts.By[0].field = byService
		}
		naive := newNaiveTree(specs)
		want := make(map[string]int64)
		for i, rec := range records {
			if e := rec.Entry; e != nil && !naive.repeat[i] {
				key := GroupKey{Keys: opts.By, Values: []KeyValue{opts.By[0].value(e), opts.By[1].value(e)}}
				want[e.Side.String()+"|"+key.String()] += naive.self(i)
			}
		}
		got := make(map[string]int64)
		for _, g := range collected(r, records, opts, 2).Groups {
			got[g.Side+"|"+g.Key.String()] = g.SelfNS.V
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d, by %v (-naive +got):\n%s", seed, opts.By, diff)
		}
	})
}
