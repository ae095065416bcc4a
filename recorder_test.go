package optrace_test

import (
	"fmt"
	"io"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Current has the ended operations with their attributes.
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
		got = append(got,
			fmt.Sprintf("%v %s %t %v %v %v", e.Step, e.Operation, known, e.InputShapes, e.OutputShape,
				e.OutputElements))
	}
	check.Equal(t, "operations", []string{
		"0 matmul true [2x3 3x4] 2x4 8", "1 unknown false [] ? unknown", "2 scalar false [] scalar 1",
		"3 unknown false [] ? unknown",
	}, got)
	check.Equal(t, "the end of one and the start of the next are one reading", all[1].End(), all[2].Start)
}

// A Recorder can be used again for another iteration.
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
	check.Equal(t, "the step after Finish", op.Known(8), rec.Current()[0].Step)
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
