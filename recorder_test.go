package optrace_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/tensorconv"
)

// Current has the operations that have ended, with what is known of them.
func TestRecorderCurrent(t *testing.T) {
	rec := optrace.NewTracer(nil).Recorder(t.Context())
	rec.Begin("matmul", "").In(2, 3).In(3, 4).Out(2, 4).End()
	rec.Begin("unknown", "")
	rec.Begin("scalar", "").Out()
	check.Equal(t, "operations have ended", 2, len(rec.Current()))
	rec.End()
	rec.End()
	rec.BeginPrepared(nil).End() // has no name
	all := rec.Current()
	if len(all) != 4 || all[3].Operation != "unknown" {
		t.Fatalf("%d operations, want 4", len(all))
	}
	for i, want := range []op.Entry{
		{Operation: "matmul", InputShapes: []op.Shape{{2, 3}, {3, 4}}, OutputShape: op.Shape{2, 4}, OutputElements: op.Known(8)},
		{Operation: "unknown"},
		{Operation: "scalar", OutputShape: op.Shape{}, OutputElements: op.Known(1)},
	} {
		e := all[i]
		got := op.Entry{Operation: e.Operation, InputShapes: e.InputShapes, OutputShape: e.OutputShape, OutputElements: e.OutputElements}
		if diff := cmp.Diff(want, got); diff != "" || e.Step != op.Known(int64(i)) {
			t.Errorf("operation %d has step %v (-want +got):\n%s", i, e.Step, diff)
		}
	}
	if all[1].End() != all[2].Start {
		t.Errorf("one ends at %v, the next starts at %v: back to back they are one reading", all[1].End(), all[2].Start)
	}
}

// Operations of a Recorder are below the request that was open when it was made, also when they are recorded after its end.
func TestProcessorRecorder(t *testing.T) {
	ops, spans := entriesOf(t, func(tp *sdktrace.TracerProvider, proc *optrace.Processor) {
		ctx, request := tp.Tracer("app").Start(t.Context(), "request")
		rec := proc.Recorder(ctx)
		rec.Begin("matmul", "cuda:0").Out(64, 256)
		request.End()
		rec.Record("allreduce", "cuda:0", ran)
		rec.Finish()
		proc.Recorder(context.Background()).Finish() // nothing recorded, nothing emitted
	})
	if len(ops) != 2 || len(spans) != 1 {
		t.Fatalf("%d entries and %d spans, want 2 and 1", len(ops), len(spans))
	}
	for _, e := range ops {
		check.OK(t, e.Validate())
		if e.TraceID != spans[0].TraceID || e.ParentSpanID != spans[0].SpanID || e.SpanID.IsZero() || e.Root != "request" ||
			e.RootSpanID != e.ParentSpanID || e.Service == "" || e.Scope != optrace.ScopeName {
			t.Errorf("%+v", e)
		}
	}
}

// Every way out of a Recorder shows the same attributes, each key once.
func TestRecorderAttributes(t *testing.T) {
	spec := optrace.OpSpec{Name: "gelu", Device: "cuda:1", Inputs: []op.Shape{{8}}, Output: op.Shape{4}, DType: op.F16, FLOPs: op.Known(1)}
	for _, tt := range []struct {
		name string
		run  func(rec *optrace.Recorder, gelu *optrace.Prepared)
		want []string
	}{
		{
			"nothing known",
			func(rec *optrace.Recorder, _ *optrace.Prepared) { rec.Begin("a", "") },
			[]string{"tensor.op.name=a"},
		},
		{
			"all",
			func(rec *optrace.Recorder, _ *optrace.Prepared) {
				rec.Step(3)
				rec.Begin("a", "cpu").In(2, 3).In().Out(2).DType(op.F32).Stream(7).Kind(op.KindCollective).Path("p").FLOPs(6).
					Attrs(tensorconv.CollectiveGroupName("dp"), attribute.Int("k", 1))
			},
			[]string{
				"k=1", "tensor.collective.group.name=dp", "tensor.device.id=cpu", "tensor.dtype=f32", "tensor.input.shapes=[[2,3],[]]",
				"tensor.op.flop_count=6", "tensor.op.kind=collective", "tensor.op.name=a", "tensor.op.path=p", "tensor.output.shape=[2]",
				"tensor.step=3", "tensor.stream.id=7",
			},
		},
		{
			"the last one counts",
			func(rec *optrace.Recorder, _ *optrace.Prepared) {
				rec.Begin("a", "cpu").Out(1, 2).Out().DType(op.I8).DType(op.F32).Device("cuda:0").FLOPs(1).FLOPs(2).
					Attrs(tensorconv.DeviceID("cuda:1"), attribute.Int("k", 1), attribute.Int("k", 2))
			},
			[]string{
				"k=2", "tensor.device.id=cuda:1", "tensor.dtype=f32", "tensor.op.flop_count=2", "tensor.op.name=a", "tensor.output.shape=[]",
			},
		},
		{
			"after the end",
			func(rec *optrace.Recorder, _ *optrace.Prepared) {
				rec.In(9).Out(9).DType(op.F32).Device("x").FLOPs(9).Attrs(attribute.Int("k", 9)).Err(errors.New("x")) // no operation
				rec.End()
				rec.Begin("a", "").End()
				rec.In(1).Out(2).Path("p")
			},
			[]string{"tensor.input.shapes=[[1]]", "tensor.op.name=a", "tensor.op.path=p", "tensor.output.shape=[2]"},
		},
		{
			"prepared",
			func(rec *optrace.Recorder, gelu *optrace.Prepared) { rec.BeginPrepared(gelu) },
			[]string{
				"tensor.device.id=cuda:1", "tensor.dtype=f16", "tensor.input.shapes=[[8]]", "tensor.op.flop_count=1",
				"tensor.op.name=gelu", "tensor.output.shape=[4]",
			},
		},
		{
			"prepared, but other than expected",
			func(rec *optrace.Recorder, gelu *optrace.Prepared) {
				rec.Step(5)
				rec.BeginPrepared(gelu).In(16).In(2).Out(5).DType(op.BF16).Device("cuda:2").FLOPs(2)
			},
			[]string{
				"tensor.device.id=cuda:2", "tensor.dtype=bf16", "tensor.input.shapes=[[16],[2]]", "tensor.op.flop_count=2",
				"tensor.op.name=gelu", "tensor.output.shape=[5]", "tensor.step=5",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// An operation on either side must not leak into the one between.
			record := func(tr *optrace.Tracer, rec *optrace.Recorder) {
				rec.Begin("before", "cpu").In(7).Out(7).Path("before")
				rec.Finish()
				tt.run(rec, prepare(t, tr, spec))
				rec.Begin("after", "cpu").In(7).Out(7).Path("after").Err(errors.New("boom"))
				rec.Finish()
			}
			ofTracer := recordSpans(t, func(tr *optrace.Tracer) { record(tr, tr.Recorder(t.Context())) })
			foreign := &spantest.Exporter{}
			proc := newForwarder(t, foreign)
			record(optrace.NewTracer(nil), proc.Recorder(t.Context()))
			shutdown(t, proc)
			for from, spans := range map[string]tracetest.SpanStubs{"Tracer": ofTracer, "Processor": foreign.Stubs()} {
				if len(spans) != 3 {
					t.Fatalf("%s: %d spans, want 3", from, len(spans))
				}
				check.Equal(t, fmt.Sprintf("%s: attributes", from), tt.want, texts(spans[1].Attributes))
				if spans[1].StartTime.Before(spans[0].EndTime) || spans[2].StartTime.Before(spans[1].EndTime) {
					t.Errorf("%s: operations overlap", from)
				}
				if s := spans[2]; !s.SpanContext.IsValid() || s.Name != "after" || s.Status.Description != "boom" ||
					s.SpanKind != trace.SpanKindInternal {
					t.Errorf("%s: span %+v", from, s)
				}
			}
		})
	}
}

// A Recorder that is used again may go on with another iteration.
func TestRecorderStep(t *testing.T) {
	rec := optrace.NewTracer(nil).Recorder(optrace.ContextWithStep(t.Context(), 7))
	rec.Begin("a", "")
	rec.Step(8)
	rec.Begin("b", "").End()
	var got []op.Int
	for _, e := range rec.Current() {
		got = append(got, e.Step)
	}
	check.Equal(t, "steps", []op.Int{op.Known(7), op.Known(8)}, got)
	rec.Finish()
	rec.Begin("c", "").End()
	if e := rec.Current()[0]; e.Step != op.Known(8) {
		t.Errorf("after Finish the step is %v, want 8", e.Step)
	}
}

// Nobody calls Finish: nothing is lost, and what the Recorder holds is bounded.
func TestRecorderIsBounded(t *testing.T) {
	cases.NotUnderRace(t, cases.OneGoroutine)
	const held = 1 << 16
	type load struct {
		name     string
		ops      int
		describe func(rec *optrace.Recorder)
		most     int // operations that are held
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
			if st := proc.Stats(); st.Written != uint64(tt.ops) || st.Dropped != 0 {
				t.Errorf("stats %+v, want %d written", st, tt.ops)
			}
		})
	}
}

// Current reads attributes as the Exporter does.
func TestRecorderCurrentMapping(t *testing.T) {
	var m attr.Mapping
	m.Alias("engine.layer", attrkey.Path)
	m.Keep("engine.kernel")
	proc := newProcessor(t, newExporter(t, io.Discard, optrace.WithMapping(&m)))
	rec := proc.Recorder(t.Context())
	rec.Begin("matmul", "").Attrs(attribute.String("engine.layer", "encoder.0"), attribute.String("engine.kernel", "tiled")).End()
	e := rec.Current()[0]
	if e.Path != "encoder.0" || len(e.Attrs) != 1 || e.Warn != 0 {
		t.Errorf("path %q, attributes %v, warnings %v", e.Path, e.Attrs, e.Warn)
	}
	shutdown(t, proc)
}
