package optrace_test

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Current has the ended operations with their attributes. Step holds after Finish.
func TestRecorderCurrent(t *testing.T) {
	rec := optrace.NewTracer(nil).Recorder(t.Context())
	rec.Begin("matmul", "").In(2, 3).In(3, 4).Out(2, 4).End()
	rec.Begin("unknown", "")
	rec.Begin("scalar", "").Out()
	check.Equal(t, "operations have ended", 2, len(rec.Current()))
	rec.End()
	rec.End()
	rec.BeginPrepared(nil).End() // without a name
	all := rec.Current()
	var got []string
	for _, e := range all {
		known := e.InputShapes != nil
		got = append(got, fmt.Sprintf("%v %s %t %v %v %v", e.Step, e.Operation, known, e.InputShapes, e.OutputShape,
			e.OutputElements))
	}
	check.Equal(t, "operations", []string{
		"0 matmul true [2x3 3x4] 2x4 8", "1 unknown false [] ? unknown", "2 scalar false [] scalar 1",
		"3 unknown false [] ? unknown",
	}, got)
	check.Equal(t, "the end of one and the start of the next are one reading", all[1].End(), all[2].Start)

	rec = optrace.NewTracer(nil).Recorder(optrace.ContextWithStep(t.Context(), 7)).Begin("a", "")
	rec.Step(8)
	all = rec.Begin("b", "").Current()
	rec.Finish()
	all = append(all, rec.Begin("c", "").Begin("d", "").Current()...)
	check.Equal(t, "steps", [2]op.Int{op.Known(7), op.Known(8)}, [2]op.Int{all[0].Step, all[1].Step})
}

// Without Finish no operation is lost, and the Recorder's memory is bounded.
func TestRecorderIsBounded(t *testing.T) {
	cases.NotUnderRace(t, cases.OneGoroutine)
	const held = 1 << 16
	type load struct {
		name     string
		ops      int
		describe func(rec *optrace.Recorder)
		most     int // operations held
	}
	for tt := range cases.Of(t, 1, []load{
		{"operations", 2*held + 7, func(*optrace.Recorder) {}, held},
		{"shapes", 300, func(rec *optrace.Recorder) {
			for range op.MaxInputs {
				rec.In(make([]int64, op.MaxRank)...)
			}
		}, 50},
		{"attributes", 3000, func(rec *optrace.Recorder) { rec.Attrs(make([]attribute.KeyValue, 200)...) }, 2000},
	}) {
		t.Run(tt.name, func(t *testing.T) {
			proc := newProcessor(t, newExporter(t, io.Discard), optrace.WithPolicy(optrace.PolicyBlock))
			rec := proc.Recorder(t.Context())
			for range tt.ops {
				rec.Begin("a", "cpu")
				tt.describe(rec)
			}
			emitted := int(proc.Stats().Recorded)
			if n := tt.ops - emitted; n > tt.most {
				t.Errorf("of %d operations %d are held, want at most %d", tt.ops, n, tt.most)
			}
			check.Equal(t, "Current: operations", tt.ops-emitted-1, len(rec.Current()))
			rec.Finish()
			shutdown(t, proc)
			check.Equal(t, "stats", optrace.Stats{Recorded: uint64(tt.ops), Written: uint64(tt.ops)}, proc.Stats())
		})
	}
}

// Current reads attributes with the Exporter's mapping.
func TestRecorderCurrentMapping(t *testing.T) {
	var m attr.Mapping
	m.Alias("engine.layer", attrkey.Path)
	m.Keep("engine.kernel")
	proc := newProcessor(t, newExporter(t, io.Discard, optrace.WithMapping(&m)))
	rec := proc.Recorder(t.Context())
	rec.Begin("matmul", "").Attrs(attribute.String("engine.layer", "encoder.0"),
		attribute.String("engine.kernel", "tiled")).End()
	e := rec.Current()[0]
	if e.Path != "encoder.0" || len(e.Attrs) != 1 || e.Warn != 0 {
		t.Errorf("path %q, attributes %v, warnings %v", e.Path, e.Attrs, e.Warn)
	}
	shutdown(t, proc)
}

// A Recorder shared by goroutines panics with a clear message.
func TestSharedRecorderPanics(t *testing.T) {
	p := newProcessor(t, newExporter(t, io.Discard))
	for name, use := range map[string]func(*optrace.Recorder){
		"Begin":  func(r *optrace.Recorder) { r.Begin("b", "") },
		"Record": func(r *optrace.Recorder) { r.Record("b", "", ran) },
		"Finish": func(r *optrace.Recorder) { r.Finish() },
	} {
		r := p.Recorder(t.Context()).Begin("a", "")
		optrace.FinishElsewhere(r)
		func() {
			defer func() {
				check.Equal(t, name, any("optrace: a Recorder is used by several goroutines at once"), recover())
			}()
			use(r)
		}()
	}
	shutdown(t, p)
}

const (
	launched = 1_795_000_000_000_000_000
	started  = launched + 40_000
	ended    = started + 12_345
)

var ran = optrace.Times{Start: started, End: ended, Launch: launched}

// entriesOf returns the records written with a Processor.
func entriesOf(t *testing.T, record func(tp *sdktrace.TracerProvider, p *optrace.Processor)) (ops []*op.Entry,
	spans []*op.Span) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	p := newProcessor(t, newFile(t, path))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	record(tp, p)
	shutdown(t, tp)
	return recordtest.Split(t, ingest.Open(path).Records())
}

// Invalid times are recorded unchanged, and readers warn of them.
func TestRecordBadTimes(t *testing.T) {
	told := make(chan string, 100)
	spantest.HandleErrors(t, func(err error) {
		if !strings.Contains(err.Error(), "Unix nanoseconds") { // see TestEarlyTimes
			told <- err.Error()
		}
	})
	for _, tt := range []struct {
		name  string
		times optrace.Times
		start op.Int
		warn  op.Warning
		spans int // by Record, and by the two ways with a start and an end
	}{
		{"the end before the start", optrace.Times{Start: ended, End: started}, op.Known(ended),
			op.WarnNegativeDuration, 3},
		{"nothing", optrace.Times{}, op.Int{}, op.WarnBadTime, 0},
		{"no end", optrace.Times{Start: started}, op.Int{Known: true, V: started}, op.WarnBadTime, 0},
		{"a start before 1970", optrace.Times{Start: -5, End: ended}, op.Int{}, op.WarnBadTime, 0},
		{"before the process", optrace.Times{Start: 1_000_000, End: 1_000_005}, op.Known(1_000_000), 0, 3},
		{"the launch after the start", optrace.Times{Start: started, End: ended, Launch: ended}, op.Known(started), 0,
			1},
		{"a launch before 1970", optrace.Times{Start: started, End: ended, Launch: -1}, op.Known(started),
			op.WarnBadValue, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fromSpan, _ := entriesOf(t, func(tp *sdktrace.TracerProvider, _ *optrace.Processor) {
				tr := optrace.NewTracer(tp)
				p := prepare(t, tr, matmulSpec())
				if p.Record(t.Context(), tt.times); tt.spans > 1 {
					_, o := tr.StartAt(t.Context(), "matmul", "cuda:0", tt.times.Start)
					o.EndAt(tt.times.End)
					_, prepared := p.StartAt(t.Context(), tt.times.Start)
					prepared.EndAt(tt.times.End)
				}
			})
			check.Equal(t, "spans", tt.spans, len(fromSpan))
			if tt.spans == 0 && !strings.Contains(<-told, "matmul") { // each Tracer reports its first error at once
				t.Error("the error handler is told of something else")
			}
			fromRecorder, _ := entriesOf(t, func(_ *sdktrace.TracerProvider, p *optrace.Processor) {
				rec := p.Recorder(t.Context())
				rec.Record("matmul", "cuda:0", tt.times)
				rec.Finish()
			})
			if len(fromRecorder) != 1 {
				t.Fatalf("%d entries of a Recorder", len(fromRecorder))
			}
			for _, e := range slices.Concat(fromSpan, fromRecorder) {
				if e.Start != tt.start || e.Warn != tt.warn || e.Duration < 0 || tt.warn == op.WarnNegativeDuration &&
					e.Duration != 0 {
					t.Errorf("start %v, duration %d, warnings %b; want %v and %b", e.Start, e.Duration, e.Warn,
						tt.start, tt.warn)
				}
			}
		})
	}
	mem := tracetest.NewInMemoryExporter()
	rec := optrace.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(mem))).Recorder(t.Context())
	rec.Record("matmul", "", optrace.Times{}).Record("relu", "", ran)
	rec.Finish()
	if spans := mem.GetSpans(); len(spans) != 1 || spans[0].Name != "relu" || !strings.Contains(<-told, "matmul") {
		t.Errorf("spans %v", spans)
	}
}

// The first time in another unit than nanoseconds is reported once, for every way to record, and the operations are
// recorded.
func TestEarlyTimes(t *testing.T) {
	const ms = 1_764_359_584_123
	early := optrace.Times{Start: ms, End: ms + 5}
	for name, want := range map[string]string{
		"Prepared.Record": "1764359584123 looks like milliseconds",
		"Recorder.Record": "1764359584123 looks like milliseconds",
		"Launch":          "1764359584 looks like seconds",
		"EndAt":           "1764359584123000 looks like microseconds",
		"StartAt":         "1000 is in 1970",
	} {
		t.Run(name, func(t *testing.T) {
			optrace.ForgetEarlyTimes()
			told := make(chan string, 100)
			spantest.HandleErrors(t, func(err error) { told <- err.Error() })
			ops, _ := entriesOf(t, func(tp *sdktrace.TracerProvider, p *optrace.Processor) {
				tr := optrace.NewTracer(tp)
				prepared := prepare(t, tr, matmulSpec())
				for range 2 {
					switch name {
					case "Prepared.Record":
						prepared.Record(t.Context(), early)
					case "Recorder.Record":
						p.Recorder(t.Context()).Record("matmul", "", early).Finish()
					case "Launch":
						prepared.Record(t.Context(), optrace.Times{Start: started, End: ended, Launch: ms / 1000})
					case "EndAt":
						_, o := tr.Start(t.Context(), "matmul", "")
						o.EndAt(ms * 1000)
					case "StartAt":
						_, o := prepared.StartAt(t.Context(), 1000)
						o.EndAt(started)
					}
				}
			})
			check.Equal(t, "told", "optrace: recording operations: times are Unix nanoseconds; "+want, <-told)
			if len(ops) != 2 || len(told) > 0 {
				t.Errorf("%d operations, and %d more errors", len(ops), len(told))
			}
		})
	}
}

// Operations of an unsampled trace are not recorded, except by a Processor that takes all spans. A Processor counts
// them, and unsampled spans as skipped.
func TestRecordUnsampled(t *testing.T) {
	for want, opts := range map[uint64][]optrace.ProcessorOption{0: nil, 3: {optrace.WithRecordOnly()}} {
		p := newProcessor(t, newExporter(t, io.Discard), opts...)
		tp := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()), sdktrace.WithSpanProcessor(p))
		ctx, _ := tp.Tracer("app").Start(t.Context(), "request")
		prepare(t, optrace.NewTracer(tp), matmulSpec()).Record(ctx, ran)
		rec := p.Recorder(ctx)
		rec.Record("a", "", ran).Record("b", "", ran)
		rec.Finish()
		unsampled := spantest.Operation(0)
		unsampled.SpanContext = unsampled.SpanContext.WithTraceFlags(0)
		p.OnEnd(unsampled.Snapshot())
		shutdown(t, tp)
		check.Equal(t, "stats", optrace.Stats{Recorded: want, Written: want, Skipped: 3 - want}, p.Stats())
	}
}
