package jaeger_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/op"
)

// floored returns what of an entry the format keeps.
func floored(e *op.Entry) *op.Entry {
	e = e.Clone()
	e.Start.V -= e.Start.V % 1000
	e.Duration -= e.Duration % 1000
	e.Warn |= op.WarnMicroseconds
	for i := range e.Links {
		e.Links[i].Weight = op.Int{}
	}
	return e
}

// with returns an entry with ids and a start.
func with(e op.Entry) *op.Entry {
	e.TraceID, e.SpanID, e.Start = op.TraceID{1}, op.SpanID{2}, op.Known(1795224124978150123)
	return &e
}

func TestEntriesReadBack(t *testing.T) {
	var entries []*op.Entry
	for _, c := range optest.Cases() {
		if c.Want != nil {
			entries = append(entries, c.Want)
		}
	}
	entries = append(entries,
		&op.Entry{Operation: "relu", Kind: op.KindCompute, KindRule: op.RuleDefault, Duration: 100_125, Warn: op.WarnNoStart,
			OutputShape: op.Shape{}, OutputElements: op.Known(1), MemoryBytes: op.Known(8), InputShapes: []op.Shape{}},
		with(op.Entry{Operation: "send_kernel", Kind: op.KindCompute, KindRule: op.RuleDefault, Duration: 600, Stream: op.Known(7),
			Launch: op.Known(1795224124978150123)}),
		with(op.Entry{Operation: "ncclKernel", Kind: op.KindCollective, KindRule: op.RuleLibrary,
			Collective: &op.Collective{Name: "all_reduce", Sequence: op.Known(3)}, Rank: op.Known(2)}),
		with(op.Entry{Operation: "op", Kind: op.KindMemory, KindRule: op.RuleAttribute, Side: op.SideHost, Root: "POST /",
			RootSpanID: op.SpanID{9}, ParentSpanID: op.SpanID{8}}),
		with(op.Entry{Operation: "op", Kind: op.KindCompute, KindRule: op.RuleDefault, InputShapes: []op.Shape{nil, {2, -1}},
			Warn: op.WarnBadShape}),
		with(op.Entry{Operation: "op", Kind: op.KindCompute, KindRule: op.RuleDefault, InputShapes: []op.Shape{nil, {2, 3}},
			InputDTypes: []op.DType{"bf16", "f32"}, DType: "f32", DeviceID: "cuda:1"}),
		with(op.Entry{Operation: "op", Kind: op.KindCompute, KindRule: op.RuleDefault, Failed: true, Error: "out of memory", AdjustedCount: 4,
			DroppedAttributes: 3, Warn: op.WarnDroppedAttributes, Service: "other", Scope: "lib"}),
		with(op.Entry{Operation: "op", Kind: op.KindCompute, KindRule: op.RuleDefault, Failed: true, FLOPs: op.Known(math.MaxInt64),
			OutputElements: op.Known(1<<53 - 1), MemoryBytes: op.Known(1 << 53)}),
	)
	for _, e := range entries {
		want := []string{string(floored(e).AppendJSON(nil))}
		if diff := cmp.Diff(want, read(t, write(t, op.Record{Entry: e}))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// Every span reads back with its service and its place, trace by trace in the
// order of first sight.
func TestStructureReadsBack(t *testing.T) {
	var records []op.Record
	wants := make([][]string, 3) // by trace
	for i := range 30 {
		trace := op.TraceID{15: byte(i%3 + 1)}
		service := []string{"", "a", "b"}[i%7%3]
		id, parent := op.SpanID{7: byte(i + 1)}, op.SpanID{7: byte(i / 2)}
		if i%5 == 0 {
			records = append(records, op.Record{Resource: &op.Resource{Service: service, Rank: op.Known(int64(i))}})
		}
		if i%2 == 0 {
			s := &op.Span{Name: "request", TraceID: trace, SpanID: id, ParentSpanID: parent, RemoteParent: i%4 == 0 && !parent.IsZero(),
				Start: op.Known(5e18), Duration: 7000, Service: service, Failed: i%6 == 0,
				Links: []op.Link{{TraceID: op.TraceID{14}, SpanID: id}}[i/2%2:]}
			records = append(records, op.Record{Span: s})
			wants[i%3] = append(wants[i%3], string(s.AppendJSON(nil)))
			continue
		}
		e := &op.Entry{Operation: "relu", Kind: op.KindCompute, KindRule: op.RuleDefault, TraceID: trace, SpanID: id, ParentSpanID: parent,
			Start: op.Known(5e18), Service: service}
		if i%3 > 0 {
			e.Rank = op.Known(int64(i % 3))
		}
		records = append(records, op.Record{Entry: e})
		wants[i%3] = append(wants[i%3], string(floored(e).AppendJSON(nil)))
	}
	var want []string
	for _, w := range wants {
		want = append(want, w...)
	}
	if diff := cmp.Diff(want, read(t, write(t, records...))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHostileNames(t *testing.T) {
	for _, name := range []string{"quote\"\\\n\u2028", "</script><script>", "[1,2]", "\x00\x7f", "constructor", "__proto__", "日本"} {
		e := with(op.Entry{Operation: name, Kind: op.KindCompute, KindRule: op.RuleAttribute, Path: name, DeviceID: name, Service: name,
			Scope: name, Failed: true, Error: name})
		want := []string{string(floored(e).AppendJSON(nil))}
		if diff := cmp.Diff(want, read(t, write(t, op.Record{Entry: e}))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", name, diff)
		}
	}
	// What is no UTF-8 is written as such, with the usual mark for it.
	e := with(op.Entry{Operation: "a\xff", Service: "b\xfe"})
	write(t, op.Record{Entry: e}, op.Record{Resource: &op.Resource{Service: "\xff", Attrs: []op.Attr{{Key: "\xff", Value: "\xff"}}}},
		op.Record{Span: &op.Span{Name: "\xff", Service: "\xff"}})
}

// Attributes cannot speak for the span.
func TestReservedAttributes(t *testing.T) {
	e := with(op.Entry{Operation: "op", Kind: op.KindCompute, KindRule: op.RuleDefault})
	want := []string{string(floored(e).AppendJSON(nil))}
	e.Attrs = []op.Attr{
		{Key: "error", Value: "true"}, {Key: "otel.status_code", Value: "ERROR"}, {Key: "otel.status_description", Value: "x"},
		{Key: "otel.scope.name", Value: "x"}, {Key: "otel.library.name", Value: "x"}, {Key: "span.kind", Value: "server"},
		{Key: "w3c.tracestate", Value: "ot=th:8"}, {Key: "otel.dropped_attributes_count", Value: "5"},
	}
	if diff := cmp.Diff(want, read(t, write(t, op.Record{Entry: e}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Times that no clock shows do no harm.
func TestExtremeTimes(t *testing.T) {
	for _, start := range []int64{math.MinInt64, -1, 0, 999, math.MaxInt64} {
		for _, duration := range []int64{math.MinInt64, -1, 0, 999, math.MaxInt64} {
			e := &op.Entry{Operation: "op", TraceID: op.TraceID{1}, SpanID: op.SpanID{2}, Start: op.Known(start), Duration: duration}
			if got := read(t, write(t, op.Record{Entry: e})); len(got) != 1 {
				t.Errorf("start %d, duration %d: %q", start, duration, got)
			}
		}
	}
}
