// Tests of all formats of spans: written records read back.
package spanattr_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	ingestjaeger "github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/ingest/kineto"
	ingestotlp "github.com/optrace/optrace/ingest/otlp"
	ingestperfetto "github.com/optrace/optrace/ingest/perfetto"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/fulldisk"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/render/chrome"
	"github.com/optrace/optrace/render/internal/spanattr"
	"github.com/optrace/optrace/render/jaeger"
	"github.com/optrace/optrace/render/otlp"
	"github.com/optrace/optrace/render/perfetto"
)

// timeline is a writer of the formats that are written at the end.
type timeline interface {
	Add(e *op.Entry)
	AddSpan(s *op.Span)
	Write(w io.Writer) error
}

// format is a format of operations and spans, with its reader.
type format struct {
	name    string
	write   func(w io.Writer, records []op.Record) error
	read    func(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error]
	inOrder bool // of the input
}

func formats() []format {
	held := func(newTimeline func() timeline) func(io.Writer, []op.Record) error {
		return func(w io.Writer, records []op.Record) error {
			t := newTimeline()
			for _, rec := range records {
				switch {
				case rec.Entry != nil:
					t.Add(rec.Entry)
				case rec.Span != nil:
					t.AddSpan(rec.Span)
				case rec.Resource != nil:
					if traces, ok := t.(*jaeger.Traces); ok {
						traces.Resource(rec.Resource)
					}
				}
			}
			return t.Write(w)
		}
	}
	return []format{
		{"chrome", held(func() timeline { return new(chrome.Timeline) }), kineto.Records, false},
		{"perfetto", held(func() timeline { return new(perfetto.Timeline) }), ingestperfetto.Records, false},
		{"jaeger", held(func() timeline { return new(jaeger.Traces) }), ingestjaeger.Records, false},
		{"otlp", writeOTLP, ingestotlp.JSONRecords, true},
	}
}

func writeOTLP(w io.Writer, records []op.Record) error {
	out := otlp.NewWriter(w)
	for _, rec := range records {
		var err error
		switch {
		case rec.Entry != nil:
			err = out.Entry(rec.Entry)
		case rec.Span != nil:
			err = out.Span(rec.Span)
		case rec.Resource != nil:
			err = out.Resource(rec.Resource)
		}
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

// kept returns the parts of a record kept by a format, as JSON; nil for a resource.
func kept(f format, rec op.Record) []string {
	switch {
	case rec.Entry != nil:
		e := rec.Entry.Clone()
		if e.ParentSpanID == e.SpanID && (f.name == "jaeger" || f.name == "otlp") {
			e.ParentSpanID = op.SpanID{} // Jaeger fails with such a parent
		}
		if f.name == "jaeger" {
			e.Start.V -= e.Start.V % 1000
			e.Duration -= e.Duration % 1000
			e.Warn |= op.WarnMicroseconds
			withoutWeights(e.Links)
		}
		return []string{string(e.AppendJSON(nil))}
	case rec.Span != nil:
		s := rec.Span.Clone()
		if s.ParentSpanID == s.SpanID && (f.name == "jaeger" || f.name == "otlp") {
			s.ParentSpanID = op.SpanID{}
			s.RemoteParent = s.RemoteParent && f.name == "otlp"
		}
		if f.name == "jaeger" {
			withoutWeights(s.Links)
		}
		return []string{string(s.AppendJSON(nil))}
	}
	return nil
}

func withoutWeights(links []op.Link) {
	for i := range links {
		links[i].Weight = op.Int{}
		links[i].Attention = op.Int{}
	}
}

// noteFirst adds the kept parts of a record to the first ones of each id.
func noteFirst(firsts map[string][]string, rec op.Record, kept []string) {
	id := "" // of records without one
	switch {
	case rec.Entry != nil && !rec.Entry.TraceID.IsZero():
		id = fmt.Sprint(rec.Entry.TraceID, rec.Entry.SpanID)
	case rec.Span != nil:
		id = fmt.Sprint(rec.Span.TraceID, rec.Span.SpanID)
	}
	if _, ok := firsts[id]; !ok {
		firsts[id] = kept
	}
}

// readsBack writes records and checks that they read back, with the first record of an id still first.
func readsBack(t *testing.T, f format, records ...op.Record) {
	t.Helper()
	var want, got []string
	wantFirst := map[string][]string{"": nil}
	gotFirst := map[string][]string{"": nil}
	for _, rec := range records {
		texts := kept(f, rec)
		want = append(want, texts...)
		noteFirst(wantFirst, rec, texts)
	}
	text := written(t, f, records...)
	for rec, err := range f.read(bytes.NewReader(text), "written", nil) {
		if err != nil {
			t.Fatalf("%s: %v\n%s", f.name, err, text)
		}
		whole := f
		whole.name = "" // keeps everything
		texts := kept(whole, rec)
		got = append(got, texts...)
		noteFirst(gotFirst, rec, texts)
	}
	if !f.inOrder {
		slices.Sort(want)
		slices.Sort(got)
	}
	check.Equal(t, f.name, want, got)
	check.Equal(t, f.name+": the first of each id", wantFirst, gotFirst)
	if f.name == "otlp" { // the Collector reads as many
		spans := 0
		for line := range bytes.Lines(text) {
			for _, rs := range otlptest.TracesJSON(t, line).ResourceSpans {
				for _, ss := range rs.ScopeSpans {
					spans += len(ss.Spans)
				}
			}
		}
		check.Equal(t, "spans", len(want), spans)
	}
}

// written returns the written records, which are valid JSON in JSON formats.
func written(t *testing.T, f format, records ...op.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, f.write(&b, records))
	if (f.name == "chrome" || f.name == "jaeger") && !json.Valid(b.Bytes()) {
		t.Errorf("%s: not JSON: %s", f.name, b.Bytes())
	}
	return b.Bytes()
}

const start = 1795224124978150123

// The records of testdata, and the cases of package optest, read back one by one and together. Timelines keep more.
func TestEntriesReadBack(t *testing.T) {
	records := recordtest.File(t, "testdata/records.jsonl")
	for _, c := range optest.Cases() {
		if c.Want != nil {
			records = append(records, op.Record{Entry: c.Want})
		}
	}
	timelines := recordtest.File(t, "testdata/timelines.jsonl")
	for i, f := range formats() {
		t.Run(f.name, func(t *testing.T) {
			all := slices.Clone(records)
			if i < 2 {
				all = append(all, timelines...)
			}
			for _, rec := range all {
				readsBack(t, f, rec)
			}
			readsBack(t, f, all...) // together
		})
	}
}

// Random operations and spans of several services and ranks, with shared tracks, times and ids.
func TestRandomRecordsReadBack(t *testing.T) {
	for seed := range cases.Numbers(t, 60) {
		rng := rand.New(rand.NewPCG(seed, 8))
		sometimes := func(n int64) op.Int {
			if rng.IntN(2) == 0 {
				return op.Int{}
			}
			return op.Known(n)
		}
		at := func() op.Int { return op.Known(start - start%1000 + rng.Int64N(30)*1000) }
		id := func() op.SpanID { return op.SpanID{byte(1 + rng.IntN(30))} }
		var records []op.Record
		for range rng.IntN(50) {
			service := []string{"", "a", "b"}[rng.IntN(3)]
			rank := sometimes(rng.Int64N(2))
			trace := op.TraceID{byte(rng.IntN(3)), 1}
			var links []op.Link
			for range rng.IntN(3) {
				links = append(links, op.Link{TraceID: op.TraceID{14}, SpanID: id(), Weight: rank, Attention: rank})
			}
			switch rng.IntN(4) {
			case 0:
				records = append(records, op.Record{Resource: &op.Resource{Service: service, Rank: rank,
					WorldSize: op.Known(2), Attrs: []op.Attr{{Key: "host.name", Value: service}}}})
			case 1:
				s := &op.Span{Name: "span", TraceID: trace, SpanID: id(), ParentSpanID: id(),
					RemoteParent: rng.IntN(2) == 0, Start: at(), Duration: rng.Int64N(30) * 1000, Service: service,
					Failed: rng.IntN(2) == 0, Links: links}
				records = append(records, op.Record{Span: s})
			default:
				e := &op.Entry{
					Operation: fmt.Sprint("op", rng.IntN(5)), Kind: op.KindCompute, KindRule: op.RuleDefault,
					TraceID: trace, SpanID: id(),
					ParentSpanID: id(), Start: at(), Duration: rng.Int64N(30) * 700, Service: service, Rank: rank,
					DeviceID: []string{"cuda:0", "cuda:1", ""}[rng.IntN(3)], Stream: sometimes(rng.Int64N(2)),
					Launch: sometimes(start + rng.Int64N(1e6)), Links: links, Scope: []string{"", "lib"}[rng.IntN(2)],
				}
				records = append(records, op.Record{Entry: e})
			}
		}
		for _, f := range formats() {
			readsBack(t, f, records...)
		}
	}
	for _, f := range formats() {
		readsBack(t, f)
	}
}

// For any names and times, all formats read back as written.
func FuzzWrite(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		for i, f := range formats() {
			if i == 2 { // the others have no times before 1970
				e.Start.V = max(e.Start.V, 1000)
			}
			if e.Validate() == nil { // the end still fits
				readsBack(t, f, op.Record{Entry: e})
			}
		}
	})
}

// Invalid UTF-8 is written as the replacement character, and impossible times do no harm.
func TestOddRecords(t *testing.T) {
	ids := op.Entry{Operation: "a\xff", Service: "b\xfe", TraceID: op.TraceID{1}, SpanID: op.SpanID{2}}
	for _, f := range formats() {
		written(t, f, op.Record{Entry: &ids}, op.Record{Span: &op.Span{Name: "\xff", Service: "\xff"}},
			op.Record{Resource: &op.Resource{Service: "\xff", Attrs: []op.Attr{{Key: "\xff", Value: "\xff"}}}})
		for _, n := range []int64{math.MinInt64, -1, 0, 999, math.MaxInt64} {
			e := ids
			e.Start = op.Known(n)
			e.Duration = max(0, -1-n)
			written(t, f, op.Record{Entry: &e})
		}
	}
}

func TestWriteError(t *testing.T) {
	for _, f := range formats() {
		check.Says(t, f.name, "", f.write(&fulldisk.Writer{}, []op.Record{{Entry: &op.Entry{Operation: "relu"}}}))
	}
}

// No threshold stands for more than 2^56 spans.
func TestTraceState(t *testing.T) {
	check.Equal(t, "the state", "ot=th:ffffffffffffff", spanattr.TraceState(math.MaxFloat64))
}
