package otlp_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	ingest "github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/fulldisk"
	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/otlp"
)

// write returns what the records are written as.
func write(t *testing.T, records ...op.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	w := otlp.NewWriter(&b)
	for _, rec := range records {
		var err error
		switch {
		case rec.Entry != nil:
			err = w.Entry(rec.Entry)
		case rec.Span != nil:
			err = w.Span(rec.Span)
		case rec.Resource != nil:
			err = w.Resource(rec.Resource)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read returns the operations and the other spans of what was written, as
// JSON, and checks that the Collector reads it too.
func read(t *testing.T, text []byte) (records []string) {
	t.Helper()
	spans := 0
	for rec, err := range ingest.JSONRecords(bytes.NewReader(text), "written", nil) {
		switch {
		case err != nil:
			t.Fatalf("%v\n%s", err, text)
		case rec.Entry != nil:
			records = append(records, string(rec.Entry.AppendJSON(nil)))
		case rec.Span != nil:
			records = append(records, string(rec.Span.AppendJSON(nil)))
		}
	}
	for line := range bytes.Lines(text) {
		for _, rs := range spantest.TracesJSON(t, line).ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				spans += len(ss.Spans)
			}
		}
	}
	if spans != len(records) {
		t.Fatalf("%d spans, of which the reader finds %d", spans, len(records))
	}
	return records
}

// entriesOf returns entries of every sort: those of the conformance cases, and
// some that no span becomes.
func entriesOf() []*op.Entry {
	var all []*op.Entry
	for _, c := range optest.Cases() {
		if c.Want != nil {
			all = append(all, c.Want)
		}
	}
	ids := func(e op.Entry) *op.Entry {
		e.TraceID, e.SpanID, e.Start = op.TraceID{1}, op.SpanID{2}, op.Known(1795224124978150123)
		return &e
	}
	return append(all,
		&op.Entry{Operation: "relu", Kind: op.KindCompute, KindRule: op.RuleDefault, Duration: 100_125, Warn: op.WarnNoStart,
			OutputShape: op.Shape{}, OutputElements: op.Known(1), MemoryBytes: op.Known(8), InputShapes: []op.Shape{}},
		ids(op.Entry{Operation: "send_kernel", Kind: op.KindCompute, KindRule: op.RuleDefault, Stream: op.Known(7), Launch: op.Known(5)}),
		ids(op.Entry{Operation: "ncclKernel", Kind: op.KindCollective, KindRule: op.RuleLibrary,
			Collective: &op.Collective{Name: "all_reduce", Sequence: op.Known(3)}, Rank: op.Known(2)}),
		ids(op.Entry{Operation: "op", Kind: op.KindMemory, KindRule: op.RuleAttribute, Side: op.SideHost, Root: "POST /",
			RootSpanID: op.SpanID{9}, Warn: op.WarnBadShape | op.WarnMicroseconds}),
		ids(op.Entry{Operation: "op", Kind: op.KindCompute, KindRule: op.RuleDefault, InputShapes: []op.Shape{nil, {2, -1}},
			OutputElements: op.Known(12), MemoryBytes: op.Known(1)}),
		ids(op.Entry{Operation: "quote\"\n\u2028", Kind: op.KindCompute, KindRule: op.RuleDefault, Failed: true, AdjustedCount: 4,
			DroppedAttributes: 3, Warn: op.WarnDroppedAttributes, Service: "other", Scope: "lib"}),
	)
}

func TestEntriesReadBack(t *testing.T) {
	for _, e := range entriesOf() {
		want := string(e.AppendJSON(nil))
		if got := read(t, write(t, op.Record{Entry: e})); len(got) != 1 || got[0] != want {
			t.Errorf("(-want +got):\n%s", cmp.Diff([]string{want}, got))
		}
	}
}

// Whatever the order of services, ranks and scopes, everything reads back in
// order and with what it had.
func TestMixedSourcesReadBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	pick := func(n int) int { return rng.IntN(n) }
	for range 200 {
		var records []op.Record
		var want []string
		for range 30 {
			service, rank := []string{"", "a", "b"}[pick(3)], []op.Int{{}, op.Known(0), op.Known(1)}[pick(3)]
			switch pick(4) {
			case 0:
				records = append(records, op.Record{Resource: &op.Resource{Service: service, Rank: rank, WorldSize: op.Known(2),
					Attrs: []op.Attr{{Key: "host.name", Value: service}}}})
			case 1:
				s := &op.Span{Name: "request", TraceID: op.TraceID{1}, SpanID: op.SpanID{byte(pick(9) + 1)}, Start: op.Known(5e18), Duration: 7,
					Service: service, RemoteParent: pick(2) == 0, Failed: pick(2) == 0}
				for i := range pick(3) {
					s.Links = append(s.Links, op.Link{TraceID: op.TraceID{2}, SpanID: op.SpanID{byte(i + 1)}, Weight: rank})
				}
				records = append(records, op.Record{Span: s})
				want = append(want, string(s.AppendJSON(nil)))
			default:
				e := &op.Entry{
					Operation: "relu", Kind: op.KindCompute, KindRule: op.RuleDefault, TraceID: op.TraceID{1}, SpanID: op.SpanID{2},
					Start: op.Known(5e18), Service: service, Rank: rank, Scope: []string{"", "lib"}[pick(2)],
				}
				records = append(records, op.Record{Entry: e})
				want = append(want, string(e.AppendJSON(nil)))
			}
		}
		if diff := cmp.Diff(want, read(t, write(t, records...))); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

// Batches are bounded, and a resource's attributes are on each.
func TestBatches(t *testing.T) {
	records := []op.Record{{Resource: &op.Resource{Service: "svc", Attrs: []op.Attr{{Key: "host.name", Value: "h1"}}}}}
	e := &op.Entry{Operation: "relu", Kind: op.KindCompute, KindRule: op.RuleDefault, TraceID: op.TraceID{1}, SpanID: op.SpanID{2},
		Start: op.Known(1), Service: "svc"}
	for range 1100 {
		records = append(records, op.Record{Entry: e})
	}
	text := string(write(t, records...))
	if lines := strings.Count(text, "\n"); lines != 3 || strings.Count(text, `"host.name"`) != 3 {
		t.Errorf("%d lines", lines)
	}
	if n := len(read(t, []byte(text))); n != 1100 {
		t.Errorf("%d spans", n)
	}
	if text := write(t); len(text) > 0 {
		t.Errorf("nothing is written as %q", text)
	}
}

func TestWriteError(t *testing.T) {
	w := otlp.NewWriter(&fulldisk.Writer{})
	if err := w.Entry(entriesOf()[0]); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err == nil {
		t.Error("no error")
	}
}
