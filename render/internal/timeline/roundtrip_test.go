package timeline_test

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest/kineto"
	ingestperfetto "github.com/optrace/optrace/ingest/perfetto"
	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/render/chrome"
	"github.com/optrace/optrace/render/perfetto"
)

// writer is a timeline in some format.
type writer interface {
	Add(e *op.Entry)
	AddSpan(s *op.Span)
	Write(w io.Writer) error
}

// format is a format of timelines, and the reader of it.
type format struct {
	name string
	make func() writer
	read func(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error]
}

func formats() []format {
	return []format{
		{"chrome", func() writer { return new(chrome.Timeline) }, kineto.Records},
		{"perfetto", func() writer { return new(perfetto.Timeline) }, ingestperfetto.Records},
	}
}

// readsBack writes entries and spans and checks that they are what is read, each as JSON,
// sorted: the formats have an order of their own.
func readsBack(t *testing.T, f format, entries []*op.Entry, spans []*op.Span) {
	t.Helper()
	var want, got []string
	tl := f.make()
	for _, e := range entries {
		tl.Add(e)
		want = append(want, string(e.AppendJSON(nil)))
	}
	for _, s := range spans {
		tl.AddSpan(s)
		want = append(want, string(s.AppendJSON(nil)))
	}
	var b bytes.Buffer
	if err := tl.Write(&b); err != nil {
		t.Fatal(err)
	}
	for rec, err := range f.read(&b, "timeline", nil) {
		switch {
		case err != nil:
			t.Fatal(err)
		case rec.Entry != nil:
			got = append(got, string(rec.Entry.AppendJSON(nil)))
		case rec.Span != nil:
			got = append(got, string(rec.Span.AppendJSON(nil)))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", f.name, diff)
	}
}

// eachFormat runs a test of each format.
func eachFormat(t *testing.T, test func(t *testing.T, f format)) {
	t.Helper()
	for _, f := range formats() {
		t.Run(f.name, func(t *testing.T) { test(t, f) })
	}
}

const start = 1795224124978150123

func entry(name, device string, from, duration int64) *op.Entry {
	return &op.Entry{Operation: name, Kind: op.KindCompute, DeviceID: device, Start: op.Known(start + from), Duration: duration}
}

func TestEntriesReadBack(t *testing.T) {
	relu := op.Entry{Operation: "relu", Kind: op.KindCompute, KindRule: op.RuleDefault}
	with := func(change func(e *op.Entry)) *op.Entry {
		e := relu
		e.TraceID, e.SpanID, e.Start = op.TraceID{1}, op.SpanID{2}, op.Known(start)
		change(&e)
		return &e
	}
	entries := []*op.Entry{
		with(func(e *op.Entry) { e.Start, e.TraceID, e.SpanID, e.Duration = op.Int{}, op.TraceID{}, op.SpanID{}, 125 }),
		with(func(e *op.Entry) { e.Start, e.Warn = op.Int{}, op.WarnNoStart }),
		with(func(e *op.Entry) { e.Start, e.Duration = op.Known(start+1), 1_234_567_891 }),
		with(func(e *op.Entry) { e.Stream, e.Rank, e.DeviceID = op.Known(7), op.Known(1), "cuda:0" }),
		with(func(e *op.Entry) { e.EmptyDevice = true }),
		with(func(e *op.Entry) { e.DeviceID = "unknown" }),
		with(func(e *op.Entry) { e.Side, e.Root, e.RootSpanID = op.SideHost, "POST /", op.SpanID{9} }),
		with(func(e *op.Entry) { e.ParentSpanID, e.Service, e.Scope = op.SpanID{8}, "api", "engine" }),
		with(func(e *op.Entry) { e.InputShapes = []op.Shape{{2, -1}, {}, nil} }),
		with(func(e *op.Entry) { e.InputShapes = []op.Shape{nil} }),
		with(func(e *op.Entry) { e.InputShapes = []op.Shape{} }),
		with(func(e *op.Entry) { e.InputDTypes, e.DType = []op.DType{"f32", "", "int4"}, op.BF16 }),
		with(func(e *op.Entry) {
			e.OutputShape, e.OutputElements, e.MemoryBytes = op.Shape{}, op.Known(1), op.Known(8)
		}),
		with(func(e *op.Entry) { e.Failed, e.Error = true, "</script>\u2028" }),
		with(func(e *op.Entry) { e.Failed = true }),
		with(func(e *op.Entry) { e.AdjustedCount, e.DroppedAttributes, e.Warn = 4, 3, op.WarnDroppedAttributes }),
		with(func(e *op.Entry) {
			e.Launch, e.FLOPs, e.Step = op.Known(start-5), op.Known(math.MaxInt64), op.Known(-3)
		}),
		with(func(e *op.Entry) {
			e.Links = []op.Link{{TraceID: op.TraceID{3}, SpanID: op.SpanID{4}, Weight: op.Known(2)}, {TraceID: op.TraceID{5}, SpanID: op.SpanID{6}}}
		}),
		with(func(e *op.Entry) {
			e.Operation, e.Kind, e.KindRule = "ncclDevKernel_AllReduce", op.KindCollective, op.RuleLibrary
			e.Collective = &op.Collective{Name: "all_reduce", Group: "0", GroupSize: op.Known(8), Sequence: op.Known(7), PeerRank: op.Known(1)}
		}),
		with(func(e *op.Entry) { e.Operation, e.Kind, e.KindRule = "load", op.KindIO, op.RuleAttribute }),
	}
	for _, c := range optest.Cases() {
		if c.Want != nil {
			entries = append(entries, c.Want)
		}
	}
	eachFormat(t, func(t *testing.T, f format) {
		for _, e := range entries {
			readsBack(t, f, []*op.Entry{e}, nil)
		}
		readsBack(t, f, entries, nil) // together
	})
}

func TestSpansReadBack(t *testing.T) {
	request := op.Span{Name: "POST /", TraceID: op.TraceID{1}, SpanID: op.SpanID{2}, Start: op.Known(5_000_000_001), Duration: 7}
	child := request
	child.SpanID, child.ParentSpanID, child.RemoteParent, child.Service, child.Failed = op.SpanID{3}, request.SpanID, true, "api", true
	child.Links = []op.Link{{TraceID: op.TraceID{9}, SpanID: op.SpanID{9}}}
	bare := request
	bare.SpanID, bare.Start = op.SpanID{4}, op.Int{}
	eachFormat(t, func(t *testing.T, f format) { readsBack(t, f, nil, []*op.Span{&request, &child, &bare}) })
}

// Operations and spans at random, many on one track.
func TestRandomRecordsReadBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 30 {
		var entries []*op.Entry
		var spans []*op.Span
		for i := range rng.IntN(50) {
			e := entry(fmt.Sprint("op", rng.IntN(5)), []string{"cuda:0", "cuda:1", ""}[rng.IntN(3)], rng.Int64N(1e6)-5e5, rng.Int64N(2e5))
			e.KindRule = op.RuleDefault
			e.TraceID, e.SpanID = op.TraceID{byte(i % 3), 1}, op.SpanID{byte(i), 1}
			if rng.IntN(4) == 0 {
				e.Start = op.Int{}
			}
			if rng.IntN(2) == 0 {
				e.Stream = op.Known(rng.Int64N(2))
			}
			if rng.IntN(3) == 0 {
				e.Launch = op.Known(start + rng.Int64N(1e6))
			}
			if rng.IntN(3) == 0 {
				e.Links = []op.Link{{TraceID: op.TraceID{byte(rng.IntN(3)), 1}, SpanID: op.SpanID{byte(rng.IntN(50)), byte(1 + rng.IntN(2))}}}
			}
			entries = append(entries, e)
			spans = append(spans, &op.Span{
				Name: "span", TraceID: e.TraceID, SpanID: op.SpanID{byte(i), 2}, ParentSpanID: op.SpanID{byte(rng.IntN(50)), 2},
				Start: op.Known(start + rng.Int64N(1e6)), Duration: rng.Int64N(1e6),
			})
		}
		for _, f := range formats() {
			readsBack(t, f, entries, spans)
		}
	}
}
