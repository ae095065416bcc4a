package doctor

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

// randomRecords returns operations and spans of which about half lack each thing.
func randomRecords(rnd *rand.Rand, n int) []op.Record {
	var trace op.TraceID
	id := func() (id op.SpanID) {
		binary.BigEndian.PutUint64(id[:], 1+rnd.Uint64N(uint64(3*n)))
		return id
	}
	is := func() bool { return rnd.IntN(2) == 0 }
	trace[0] = 1
	var records []op.Record
	for range n {
		var links []op.Link
		for range rnd.IntN(3) {
			l := op.Link{TraceID: trace, SpanID: id()}
			if is() {
				l.Weight = op.Known(1)
			}
			links = append(links, l)
		}
		if rnd.IntN(4) == 0 {
			records = append(records, op.Record{Span: &op.Span{TraceID: trace, SpanID: id(), Links: links}})
			continue
		}
		e := &op.Entry{Operation: []string{"matmul", "all_reduce", "copy"}[rnd.IntN(3)], Kind: op.Kind(rnd.IntN(6)), Links: links}
		if is() {
			e.TraceID, e.SpanID = trace, id()
		}
		if is() {
			e.ParentSpanID = id()
		}
		if is() {
			e.Start, e.DeviceID = op.Known(5), []string{"cuda:0", "CPU:1", "host"}[rnd.IntN(3)]
		}
		if is() {
			e.Stream, e.Launch = op.Known(1), op.Known(2)
		}
		if is() {
			e.Side = op.SideHost
		}
		records = append(records, op.Record{Entry: e})
	}
	return records
}

func examine(records []op.Record, room int) *Report {
	d := New()
	d.ids = table.New(room, (*references).fold)
	for _, rec := range records {
		d.Add(rec)
	}
	return d.Report(analyze.Envelope{})
}

func find(r *Report, name string) Finding {
	return r.Findings[slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Name == name })]
}

// The counts are those of counting each thing by itself.
func TestCountsAreThoseOfANaiveCount(t *testing.T) {
	for seed := range cases.Numbers(t, 50) {
		records := randomRecords(rand.New(rand.NewPCG(seed, 1)), 200)
		r := examine(records, maxIDs)
		there := make(map[op.SpanID]bool)
		for _, rec := range records {
			switch {
			case rec.Span != nil:
				there[rec.Span.SpanID] = true
			case !rec.Entry.TraceID.IsZero():
				there[rec.Entry.SpanID] = true
			}
		}
		want := make(map[string][2]int64)
		count := func(name string, of, missing bool) {
			n := want[name]
			if of {
				n[0]++
				if missing {
					n[1]++
				}
			}
			want[name] = n
		}
		for _, rec := range records {
			var links []op.Link
			if rec.Span != nil {
				links = rec.Span.Links
			} else {
				e := rec.Entry
				links = e.Links
				accelerator := e.DeviceID == "cuda:0" && e.Side != op.SideHost
				count("starts", true, !e.Start.Known)
				count("devices", true, e.DeviceID == "")
				count("streams", accelerator, !e.Stream.Known)
				count("launch_times", accelerator, !e.Launch.Known)
				count("sequence_numbers", e.Kind == op.KindCollective && e.Side != op.SideHost, true)
				count("parents", true, e.ParentSpanID.IsZero())
				// A parent without a trace is the parent of an operation without one: never there.
				count("parent_records", !e.ParentSpanID.IsZero(), e.TraceID.IsZero() || !there[e.ParentSpanID])
			}
			for _, l := range links {
				count("linked_spans", true, !there[l.SpanID])
				count("link_weights", true, !l.Weight.Known)
			}
		}
		for name, n := range want {
			f := find(r, name)
			if got := [2]int64{f.Count, f.Missing}; got != n {
				t.Errorf("seed %d: %s: %v, want %v", seed, name, got, n)
			}
			if f.Estimated {
				t.Errorf("seed %d: %s is estimated", seed, name)
			}
		}
	}
}

// With less room than there are ids the report does not depend on the order of records, and
// is near the truth.
func TestSampleOfIDs(t *testing.T) {
	const room = 1000
	rnd := rand.New(rand.NewPCG(1, 2))
	records := randomRecords(rnd, 20_000)
	whole, part := examine(records, maxIDs), examine(records, room)
	for _, name := range []string{"parent_records", "linked_spans"} {
		w, p := find(whole, name), find(part, name)
		if w.Estimated || !p.Estimated {
			t.Errorf("%s: estimated %v and %v", name, w.Estimated, p.Estimated)
		}
		if math.Abs(w.Share.V-p.Share.V) > 0.05 {
			t.Errorf("%s: the share is %v, by the sample %v", name, w.Share, p.Share)
		}
	}
	for range 3 {
		rnd.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		if diff := cmp.Diff(part, examine(records, room)); diff != "" {
			t.Errorf("in another order (-want +got):\n%s", diff)
		}
	}
}

// Names beyond the limit share a row.
func TestManyNames(t *testing.T) {
	d := New()
	for i := range 3 * maxNames {
		d.Add(op.Record{Entry: &op.Entry{Operation: fmt.Sprint("op", i)}})
	}
	f := find(d.Report(analyze.Envelope{}), "starts")
	if f.Missing != 3*maxNames || f.Operations[0].Operation != otherOperations || f.Operations[0].Missing != 2*maxNames {
		t.Errorf("%d operations lack a start: %v", f.Missing, f.Operations)
	}
}
