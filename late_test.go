package optrace_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
)

// service is a program with spans that end before their operations are recorded.
type service struct {
	path  string
	procs []*optrace.Processor
	tp    *sdktrace.TracerProvider // for requests
	ops   *optrace.Tracer          // for operations
	end   func()
}

// kinds are the kinds of services.
var kinds = []string{"entries", "OTLP JSON", "OTLP proto", "a FlightRecorder", "an Exporter of spans",
	"two Processors in front of an Exporter"}

func newService(t *testing.T, kind string) *service {
	s := &service{path: filepath.Join(t.TempDir(), "ops")}
	formats := map[string]optrace.Format{"OTLP JSON": optrace.FormatOTLPJSON, "OTLP proto": optrace.FormatOTLPProto}
	exp := newFile(t, s.path, optrace.WithFormat(formats[kind]))
	switch kind {
	case "a FlightRecorder":
		f := check.Must(optrace.NewFlightRecorder(exp, 10_000))(t)
		s.start(t, f)
		shut := s.end
		s.end = func() { check.OK(t, f.Dump(t.Context())); shut() }
	case "an Exporter of spans":
		s.tp = sdktrace.NewTracerProvider(sdktrace.WithSyncer(exp))
		s.ops = optrace.NewTracer(s.tp)
		s.end = func() { shutdown(t, s.tp) }
	case "two Processors in front of an Exporter":
		p := newProcessor(t, exp)
		s.start(t, p)
		other := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(newProcessor(t, exp)))
		s.ops = optrace.NewTracer(other)
		shut := s.end
		s.end = func() { shutdown(t, other); shut() }
	default:
		s.start(t, newProcessor(t, exp))
	}
	return s
}

func (s *service) start(t *testing.T, p *optrace.Processor) {
	s.procs = append(s.procs, p)
	s.tp = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	s.ops = optrace.NewTracer(s.tp)
	s.end = func() { shutdown(t, s.tp) }
}

// names counts the spans in the file by name, and the operations.
func (s *service) names(t *testing.T) (spans map[string]int, ops int) {
	t.Helper()
	entries, all := recordtest.Split(t, ingest.Open(s.path).Records())
	spans = make(map[string]int)
	for _, one := range all {
		spans[one.Name]++
	}
	return spans, len(entries)
}

// lateWays are the ways to record below an ended span. A name with "a Processor" needs a Processor.
var lateWays = []string{
	"Prepared.Record", "Prepared.Start before", "Tracer.Start", "a Recorder of a Tracer", "a Queue of a Tracer",
	"a Recorder of a Processor", "a Recorder of a Processor begun before", "a Queue of a Processor",
}

// late begins an operation below ctx in a way. The returned function runs after the end of the span.
func (s *service) late(t *testing.T, way string, ctx context.Context, p *optrace.Prepared) (later func()) {
	switch way {
	case "Prepared.Record":
		return func() { p.Record(ctx, ran) }
	case "Prepared.Start before":
		_, o := p.Start(ctx)
		return o.End
	case "Tracer.Start":
		return func() { run(ctx, s.ops, "matmul") }
	case "a Recorder of a Tracer":
		return func() { s.ops.Recorder(ctx).RecordPrepared(p, ran).Finish() }
	case "a Queue of a Tracer":
		return launch(t, s.ops, ctx, p)
	case "a Recorder of a Processor":
		return func() { s.procs[0].Recorder(ctx).RecordPrepared(p, ran).Finish() }
	case "a Recorder of a Processor begun before":
		return s.procs[0].Recorder(ctx).BeginPrepared(p).Finish
	}
	return launch(t, s.procs[0], ctx, p)
}

func launch(t *testing.T, to optrace.Recording, ctx context.Context, p *optrace.Prepared) func() {
	q := newQueue(t, to)
	start := new(mark)
	end := new(mark)
	q.Launched(q.Begin(ctx, p), start, end)
	return func() {
		start.at.Store(started)
		end.at.Store(ended)
		q.Poll()
	}
}

// A request that ended before its operations is in the file once, and so are the spans between, for every way and
// format.
func TestLateOperationsKeepTheirRequest(t *testing.T) {
	for _, kind := range kinds {
		for _, name := range lateWays {
			s := newService(t, kind)
			if s.procs == nil && strings.Contains(name, "Processor") {
				s.end()
				continue
			}
			spans := s.tp.Tracer("app")
			prepared := prepare(t, s.ops, matmulSpec())
			var later []func()
			for i := range 100 {
				request, requestSpan := spans.Start(t.Context(), "request")
				ctx, handler := spans.Start(request, "handler")
				later = append(later, s.late(t, name, ctx, prepared))
				if i%2 == 0 {
					prepared.Record(ctx, ran) // operations before and after the end
				}
				handler.End()
				requestSpan.End()
			}
			for _, f := range later {
				f()
			}
			s.end()
			got, ops := s.names(t)
			check.Equal(t, name+", "+kind+": spans", map[string]int{"request": 100, "handler": 100}, got)
			check.Equal(t, name+", "+kind+": operations", 150, ops)
			r := check.Must(analyze.Run(t.Context(), ingest.Open(s.path), analyze.Options{}))(t)
			check.Equal(t, name+", "+kind+": orphans", op.Known(0), r.Input.Orphans)
		}
	}
}

// naiveSpan and naiveFile are a model of the file with unlimited memory.
type naiveSpan struct {
	ctx            context.Context
	span           trace.Span
	name           string
	parent, link   *naiveSpan
	ended, written bool
}

type naiveFile map[trace.TraceID]bool // traces with operations

func (f naiveFile) refer(s *naiveSpan) {
	if s == nil {
		return
	}
	f[s.span.SpanContext().TraceID()] = true
	if s.ended && !s.written {
		f.write(s)
	}
}

func (f naiveFile) write(s *naiveSpan) {
	s.written = true
	f.refer(s.parent)
	f.refer(s.link)
}

// The file agrees with a naive model when spans and operations come in any order, in several traces, with several local
// roots and links.
func TestLateOperationsAgainstNaive(t *testing.T) {
	cases.Inputs(t, 20, 300, func(seed uint64, r *rand.Rand) {
		s := newService(t, kinds[seed%5])
		spans := s.tp.Tracer("app")
		prepared := prepare(t, s.ops, matmulSpec())
		f := make(naiveFile)
		var all []*naiveSpan
		for i := range 120 {
			n := &naiveSpan{ctx: t.Context(), name: fmt.Sprint(i)}
			if len(all) > 0 && r.IntN(4) > 0 {
				n.parent = all[r.IntN(len(all))]
				n.ctx = n.parent.ctx
			}
			switch what := r.IntN(6); {
			case what < 3:
				var opts []trace.SpanStartOption
				if len(all) > 0 && r.IntN(8) == 0 {
					n.link = all[r.IntN(len(all))]
					opts = append(opts, trace.WithLinks(trace.LinkFromContext(n.link.ctx)))
				}
				if r.IntN(3) == 0 {
					n.ctx = remote(n.ctx)
				}
				n.ctx, n.span = spans.Start(n.ctx, n.name, opts...)
				all = append(all, n)
			case n.parent == nil:
			case what < 5 && !n.parent.ended:
				n = n.parent
				n.span.End()
				n.ended = true
				if f[n.span.SpanContext().TraceID()] {
					f.write(n)
				}
			case what == 5:
				prepared.Record(n.ctx, ran)
				f.refer(n.parent)
			}
		}
		s.end()
		want := make(map[string]int)
		for _, n := range all {
			if n.written {
				want[n.name] = 1
			}
		}
		got, _ := s.names(t)
		check.Equal(t, fmt.Sprintf("seed %d: spans in the file", seed), want, got)
	})
}

// With more requests than memory the missing ones are counted, and the memory is bounded.
func TestLateOperationsOfManyRequests(t *testing.T) {
	for _, before := range []int{0, 1} { // operations before
		s := newService(t, "entries")
		spans := s.tp.Tracer("app")
		prepared := prepare(t, s.ops, matmulSpec())
		request := func() context.Context {
			text := attribute.String("http.request.body", strings.Repeat("x", 1<<10))
			_, span := spans.Start(t.Context(), "request", trace.WithAttributes(text))
			span.End()
			return trace.ContextWithSpanContext(t.Context(), span.SpanContext())
		}
		for range before {
			prepared.Record(request(), ran)
		}
		contexts := make([]context.Context, 8000-7000*(1-before))
		heap := check.Heap()
		for i := range contexts {
			contexts[i] = request()
		}
		const most, rest = 8 << 20, 3 << 20
		if held := check.Heap() - heap; held > most+rest {
			t.Errorf("%d KiB are held, want %d at most", held>>10, (most+rest)>>10)
		}
		for _, ctx := range contexts {
			prepared.Record(ctx, ran)
			prepared.Record(ctx, ran)
		}
		st := s.procs[0].Stats()
		s.end()
		got, _ := s.names(t)
		n := got["request"] + int(st.LostParents)
		if n != len(contexts)+before || st.LostParents == 0 || got["request"] < len(contexts)/3 {
			t.Errorf("of %d requests %d are in the file and %d are counted as lost", len(contexts)+before,
				got["request"], st.LostParents)
		}
	}
}

// A request and its operations end at the same time.
func TestLateOperationsConcurrentSafe(t *testing.T) {
	for _, kind := range kinds {
		s := newService(t, kind)
		spans := s.tp.Tracer("app")
		prepared := prepare(t, s.ops, matmulSpec())
		want := make(map[string]int)
		for i := range 200 {
			name := fmt.Sprint(i)
			want[name] = 1
			ctx, request := spans.Start(t.Context(), name)
			atOnce(3, func(i int) {
				if i == 0 {
					request.End()
				} else {
					prepared.Record(ctx, ran)
				}
			})
		}
		s.end()
		got, _ := s.names(t)
		check.Equal(t, kind+": requests", want, got)
	}
}

// A late span has the same record as a span written at its end.
func TestLateRecordIsTheSame(t *testing.T) {
	above := spantest.Request()
	above.SpanContext = above.SpanContext.WithTraceState(check.Must(trace.ParseTraceState("ot=th:8,a=b"))(t))
	above.Events = []sdktrace.Event{{Name: "exception", Time: time.Unix(1, 0)}}
	above.Links = []sdktrace.Link{{SpanContext: spantest.SpanContext(7, 7)}}
	below := spantest.Operation(0)
	below.Parent = above.SpanContext
	below.SpanContext = below.SpanContext.WithTraceID(above.SpanContext.TraceID())
	for _, f := range allFormats {
		var want []*op.Span
		for _, expect := range []bool{true, false} {
			path := filepath.Join(t.TempDir(), "ops")
			p := newProcessor(t, newFile(t, path, optrace.WithFormat(f)), optrace.WithRecordOnly())
			if expect {
				p.KeepTrace(trace.ContextWithSpanContext(t.Context(), above.SpanContext))
			}
			for _, s := range []tracetest.SpanStub{above, below} {
				p.OnEnd(s.Snapshot())
			}
			shutdown(t, p)
			_, got := recordtest.Split(t, ingest.Open(path).Records())
			if expect {
				want = got
			}
			check.Equal(t, f.String(), want, got)
			check.Equal(t, f.String()+": spans", 1, len(got))
			if text := check.Must(os.ReadFile(path))(t); bytes.Contains(text, []byte("th:8")) {
				t.Errorf("%v: a span that is recorded whatever is sampled has a probability", f)
			}
		}
	}
}
