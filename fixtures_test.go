package optrace_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// epoch is when the operations of the fixtures start.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// traceID and spanID return ids that are valid and differ for each n.
func traceID(n int) (id trace.TraceID) {
	binary.BigEndian.PutUint64(id[:8], 0xa1b2c3d4e5f60718)
	binary.BigEndian.PutUint64(id[8:], uint64(n+1)*0x9e3779b97f4a7c15)
	return id
}

func spanID(n int) (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], uint64(n+1))
	return id
}

func spanContext(traceNumber, spanNumber int) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID(traceNumber), SpanID: spanID(spanNumber), TraceFlags: trace.FlagsSampled,
	})
}

// opStub is the i-th operation of the first trace, a matrix product.
func opStub(i int) tracetest.SpanStub {
	start := epoch.Add(time.Duration(i) * time.Millisecond)
	return tracetest.SpanStub{
		Name:        "matmul",
		SpanContext: spanContext(0, i),
		Parent:      spanContext(0, 1<<20),
		StartTime:   start,
		EndTime:     start.Add(125 * time.Microsecond),
		Attributes: []attribute.KeyValue{
			tensorconv.OpName("matmul"), tensorconv.DeviceID("cuda:0"), tensorconv.DType(op.F32),
			tensorconv.InputShapes([]int64{64, 784}, []int64{784, 256}), tensorconv.OutputShape(64, 256),
			tensorconv.Step(int64(i)),
		},
		Resource:             serviceResource("trainer"),
		InstrumentationScope: instrumentation.Scope{Name: optrace.ScopeName},
	}
}

// requestStub is the span above the operations of opStub: no operation itself.
func requestStub() tracetest.SpanStub {
	s := opStub(0)
	s.Name, s.SpanContext, s.Parent, s.Attributes = "POST /generate", s.Parent, trace.SpanContext{}, nil
	s.EndTime = s.StartTime.Add(time.Second)
	return s
}

var serviceResource = sync.OnceValue(func() func(string) *resource.Resource {
	var mu sync.Mutex
	known := make(map[string]*resource.Resource)
	return func(name string) *resource.Resource {
		mu.Lock()
		defer mu.Unlock()
		if known[name] == nil {
			known[name] = resource.NewSchemaless(attribute.String(op.KeyServiceName, name))
		}
		return known[name]
	}
})()

// opSpans returns n finished operations of one trace.
func opSpans(n int) []sdktrace.ReadOnlySpan {
	spans := make([]sdktrace.ReadOnlySpan, n)
	for i := range spans {
		spans[i] = opStub(i).Snapshot()
	}
	return spans
}

// buffer keeps what is written to it, write by write. It is safe for
// concurrent use, as a test reads it while an exporter writes.
type buffer struct {
	mu     sync.Mutex
	writes [][]byte
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes = append(b.writes, bytes.Clone(p))
	return len(p), nil
}

func (b *buffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Concat(b.writes...)
}

func (b *buffer) Writes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.writes)
}

// writerFunc is a writer made of a function.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// recording is what a reader finds in what an exporter wrote.
type recording struct {
	entries   []*op.Entry
	spans     []op.Span
	gaps      []op.Gap
	batches   []op.Batch
	inBatch   []int64 // how many entries follow each batch record
	resources []op.Resource
	malformed []*op.SyntaxError
}

// lost returns how many entries the gap records speak of.
func (r *recording) lost() (n uint64) {
	for _, g := range r.gaps {
		n += uint64(g.Dropped)
	}
	return n
}

// read reads entries JSON Lines and checks that every entry is valid.
func read(tb testing.TB, text []byte) *recording {
	tb.Helper()
	var rec recording
	r := op.NewReader(bytes.NewReader(text), "recording")
	for {
		found, err := r.Next()
		if errors.Is(err, io.EOF) {
			return &rec
		}
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax):
			rec.malformed = append(rec.malformed, syntax)
			continue
		case err != nil:
			tb.Fatalf("reading what was written: %v", err)
		}
		switch {
		case found.Entry != nil:
			if err := found.Entry.Validate(); err != nil {
				tb.Errorf("an entry is not valid: %v", err)
			}
			rec.entries = append(rec.entries, found.Entry.Clone())
			if n := len(rec.inBatch); n > 0 {
				rec.inBatch[n-1]++
			}
		case found.Span != nil:
			rec.spans = append(rec.spans, *found.Span)
		case found.Gap != nil:
			rec.gaps = append(rec.gaps, *found.Gap)
		case found.Batch != nil:
			rec.batches, rec.inBatch = append(rec.batches, *found.Batch), append(rec.inBatch, 0)
		case found.Resource != nil:
			res := *found.Resource
			res.Attrs = slices.Clone(res.Attrs)
			rec.resources = append(rec.resources, res)
		case found.Skipped.N > 0:
			tb.Errorf("an exporter wrote what its reader skips: %+v", found.Skipped)
		}
	}
}

// readWhole is read for text in which every line must be readable.
func readWhole(tb testing.TB, text []byte) *recording {
	tb.Helper()
	rec := read(tb, text)
	for _, err := range rec.malformed {
		tb.Errorf("a line cannot be read: %v", err)
	}
	return rec
}

// checkBatches checks that each writer's batches are numbered without a hole
// and hold as many entries as they say. A writer that was killed may have left
// its last batch incomplete.
func checkBatches(tb testing.TB, rec *recording, killed bool) {
	tb.Helper()
	next := make(map[string]int64)
	last := make(map[string]int)
	for i, b := range rec.batches {
		if b.Sequence != next[b.Writer] {
			tb.Errorf("writer %s goes on with batch %d, want %d", b.Writer, b.Sequence, next[b.Writer])
		}
		next[b.Writer] = b.Sequence + 1
		last[b.Writer] = i
	}
	for i, b := range rec.batches {
		if n := rec.inBatch[i]; n != b.Entries && !(killed && i == last[b.Writer] && n < b.Entries) {
			tb.Errorf("batch %d of writer %s holds %d entries, says %d", b.Sequence, b.Writer, n, b.Entries)
		}
	}
}

// checkBooks checks that after Shutdown every operation is written or dropped.
func checkBooks(tb testing.TB, what string, st optrace.Stats) {
	tb.Helper()
	if st.Recorded != st.Written+st.Dropped {
		tb.Errorf("%s: recorded %d, but written %d + dropped %d = %d",
			what, st.Recorded, st.Written, st.Dropped, st.Written+st.Dropped)
	}
}

// newExporter returns an exporter to w.
func newExporter(tb testing.TB, w io.Writer, opts ...optrace.ExporterOption) *optrace.Exporter {
	tb.Helper()
	exp, err := optrace.NewExporter(w, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return exp
}

// newProcessor returns a processor that the test shuts down.
func newProcessor(tb testing.TB, exp *optrace.Exporter, opts ...optrace.ProcessorOption) *optrace.Processor {
	tb.Helper()
	p, err := optrace.NewProcessor(exp, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// newForwarder returns a forwarder that the test shuts down.
func newForwarder(tb testing.TB, next sdktrace.SpanExporter, opts ...optrace.ForwarderOption) *optrace.Processor {
	tb.Helper()
	p, err := optrace.NewForwarder(next, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// steps returns the steps of entries, which number the operations of opSpans.
func steps(entries []*op.Entry) []int64 {
	got := make([]int64, len(entries))
	for i, e := range entries {
		got[i] = e.Step.V
	}
	return got
}

// upTo returns the numbers from 0 to n-1.
func upTo(n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i)
	}
	return all
}

var errDisk = fmt.Errorf("no space left on device")
