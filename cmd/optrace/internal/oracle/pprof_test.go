package oracle_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/fulldisk"
	"github.com/optrace/optrace/internal/golden"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/pprof"
)

// pprofOf returns the profile that a table is written as, read back.
func pprofOf(t *testing.T, table *stacks.Table, opts pprof.Options) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, pprof.Write(&b, table, opts))
	p := check.Must(profile.Parse(&b))(t)
	check.OK(t, p.CheckValid())
	return p
}

// pprofRequests is a run of two requests, one of them with an operation below another, one
// from the host, and one whose ids another has.
func pprofRequests() *trace.Forest {
	f := trace.New()
	f.KeepShapes()
	span := func(trace byte, name string) {
		f.Add(op.Record{Span: &op.Span{
			Name: name, TraceID: op.TraceID{15: trace}, SpanID: op.SpanID{7: 1}, Start: op.Known(1_772_366_400_000_000_000), Duration: 1000,
		}})
	}
	add := func(trace, id, parent byte, name string, start, duration int64, change func(*op.Entry)) {
		e := &op.Entry{
			Operation: name, Kind: op.KindCompute, DeviceID: "cuda:0", TraceID: op.TraceID{15: trace}, SpanID: op.SpanID{7: id},
			ParentSpanID: op.SpanID{7: parent}, Start: op.Known(1_772_366_400_000_000_000 + start), Duration: duration,
		}
		if change != nil {
			change(e)
		}
		f.Add(op.Record{Entry: e})
	}
	shaped := func(e *op.Entry) {
		e.InputShapes, e.OutputShape, e.DType = []op.Shape{{64, 784}, {784, 256}}, op.Shape{64, 256}, "f32"
		e.MemoryBytes, e.FLOPs = op.Known(65_536), op.Known(25_690_112)
	}
	span(1, "POST /predict")
	add(1, 2, 1, "attention", 100, 500, nil)
	add(1, 3, 2, "matmul", 150, 200, shaped)
	add(1, 4, 2, "matmul", 400, 100, shaped)
	add(1, 5, 1, "aten::mm", 50, 20, func(e *op.Entry) { e.Side, e.DeviceID = op.SideHost, "cpu" })
	add(1, 3, 2, "again", 150, 300, nil)
	span(2, "GET /héalth;\n\x1b[31m")
	add(2, 2, 1, "all_reduce", 700, 50, func(e *op.Entry) { e.Kind, e.DeviceID = op.KindCollective, "cuda:1" })
	return f
}

func TestPprofGolden(t *testing.T) {
	p := pprofOf(t, stacks.Of(pprofRequests()), pprof.Options{Version: "v1.2.3", Lost: 12, Unread: 1234,
		Notes: []string{"a note\nof two lines"}})
	golden.Check(t, "testdata/pprof.txt", p.String())
	if p.TimeNanos != 1_772_366_400_000_000_100 || p.DurationNanos != 650 {
		t.Errorf("%d ns from %d on", p.DurationNanos, p.TimeNanos)
	}
}

// What a table had no room for, and sums that do not fit, are told by comments; FuzzPprof has the samples.
func TestPprofOverflow(t *testing.T) {
	table := stacks.NewTable(stacks.Limits{Stacks: 1, Shapes: 1})
	for _, name := range []string{"a", "b", "c"} {
		var path stacks.Path
		path.Push(name)
		for _, shape := range []string{"2", "3"} {
			table.Add(&path, &stacks.Labels{Shape: shape}, stacks.Values{Count: 1, TimeNS: math.MaxInt64 / 2, SelfNS: 4})
		}
	}
	comments := strings.Join(pprofOf(t, table, pprof.Options{}).Comments, "\n")
	for _, want := range []string{
		"stacks beyond the limit, which are in (other): 2", "shapes of stacks beyond the limit, which are in (other): 5",
		"sums that do not fit 64 bits are cut",
	} {
		if !strings.Contains(comments, want) {
			t.Errorf("no %q in\n%s", want, comments)
		}
	}
}

func TestPprofWriteError(t *testing.T) {
	table := stacks.Of(pprofRequests())
	var b bytes.Buffer
	check.OK(t, pprof.Write(&b, table, pprof.Options{}))
	for limit := range b.Len() {
		if err := pprof.Write(&fulldisk.Writer{Left: limit}, table, pprof.Options{}); !errors.Is(err, fulldisk.Err) {
			t.Fatalf("limit %d: error %v, want %v", limit, err, fulldisk.Err)
		}
	}
}

// Whatever a table holds, the samples are its rows.
func FuzzPprof(f *testing.F) {
	for seed := range cases.Numbers(f, 50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		table := randomTable(rand.New(rand.NewPCG(seed, 0)))
		rows := table.Rows()
		p := pprofOf(t, table, pprof.Options{})
		if len(p.Sample) != len(rows) {
			t.Fatalf("%d samples of %d rows", len(p.Sample), len(rows))
		}
		room := int64(math.MaxInt64) // what the sum of all bytes may still grow by
		for i, s := range p.Sample {
			row := &rows[i]
			var want, got []string
			for _, frame := range slices.Backward(row.Frames) {
				want = append(want, stacks.Name(frame))
			}
			for _, l := range s.Location {
				got = append(got, l.Line[0].Function.Name)
			}
			check.Equal(t, "frames", want, got)
			bytes := min(row.Bytes, room)
			room -= bytes
			check.Equal(t, "values", []int64{row.Count, row.TimeNS, row.SelfNS, bytes, row.FLOPs}, s.Value)
			check.Equal(t, "labels", [2]string{stacks.Clean(row.Device), row.Kind.String()},
				[2]string{strings.Join(s.Label["device"], " "), strings.Join(s.Label["kind"], " ")})
		}
	})
}
