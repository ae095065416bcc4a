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
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/fulldisk"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/render/pprof"
)

// pprofOf writes a table as a profile and reads it back.
func pprofOf(t *testing.T, table *stacks.Table, opts pprof.Options) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, pprof.Write(&b, table, opts))
	p := check.Must(profile.Parse(&b))(t)
	check.OK(t, p.CheckValid())
	return p
}

// requestLines is a run of two requests, with a nested operation, an operation of the host, and a repeated id.
const requestLines = `{"span":{"name":"POST /predict","trace_id":"T1","span_id":"01","start_unix_ns":N000,"duration_ns":1000}}
{"operation":"attention","device_id":"cuda:0","trace_id":"T1","span_id":"02","parent_span_id":"01","start_unix_ns":N100,"duration_ns":500}
{"operation":"matmul",SHAPES"trace_id":"T1","span_id":"03","parent_span_id":"02","start_unix_ns":N150,"duration_ns":200}
{"operation":"matmul",SHAPES"trace_id":"T1","span_id":"04","parent_span_id":"02","start_unix_ns":N400,"duration_ns":100}
{"operation":"aten::mm","side":"host","trace_id":"T1","span_id":"05","parent_span_id":"01","start_unix_ns":N050,"duration_ns":20}
{"operation":"again","device_id":"cuda:0","trace_id":"T1","span_id":"03","parent_span_id":"02","start_unix_ns":N150,"duration_ns":300}
{"span":{"name":"GET /héalth;\n\u001b[31m","trace_id":"T2","span_id":"01","start_unix_ns":N000,"duration_ns":1000}}
{"operation":"all_reduce","device_id":"cuda:1","trace_id":"T2","span_id":"02","parent_span_id":"01","start_unix_ns":N700,"duration_ns":50}
`

func pprofRequests() *trace.Forest {
	f := trace.New()
	f.KeepShapes()
	text := strings.NewReplacer(`"T`, `"0000000000000000000000000000000`, `span_id":"`, `span_id":"00000000000000`,
		":N", ":1772366400000000",
		"SHAPES", `"device_id":"cuda:0","input_shapes":[[64,784],[784,256]],"output_shape":[64,256],"dtype":"f32",`+
			`"memory_bytes":65536,"flops":25690112,`,
	).Replace(requestLines)
	for r := entries.NewReader(strings.NewReader(text), "requests"); ; {
		rec, err := r.Next()
		if err != nil {
			return f
		}
		f.Add(rec)
	}
}

func TestPprofGolden(t *testing.T) {
	p := pprofOf(t, stacks.Of(pprofRequests()), pprof.Options{Version: "v1.2.3", Lost: 12, Unread: 1234,
		Notes: []string{"a note\nof two lines"}})
	golden.Check(t, "testdata/pprof.txt", p.String())
	if p.TimeNanos != 1_772_366_400_000_000_100 || p.DurationNanos != 650 {
		t.Errorf("%d ns from %d on", p.DurationNanos, p.TimeNanos)
	}
}

// Comments mention overflowed rows and sums; FuzzPprof checks the samples.
func TestPprofOverflow(t *testing.T) {
	table := stacks.NewTable(stacks.Limits{Stacks: 1, Shapes: 1})
	for _, name := range []string{"a", "b", "c"} {
		var path stacks.Path
		path.Push(name)
		for _, shape := range []string{"2", "3"} {
			table.Add(&path, &stacks.Labels{Shape: shape}, stacks.Values{Count: 1, TimeNS: math.MaxInt64 / 2,
				SelfNS: 4})
		}
	}
	comments := strings.Join(pprofOf(t, table, pprof.Options{}).Comments, "\n")
	for _, want := range []string{
		"stacks beyond the limit, which are in (other): 2",
		"shapes of stacks beyond the limit, which are in (other): 5",
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

// The samples of any table are its rows.
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
		room := int64(math.MaxInt64) // remaining growth of the sum of bytes
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
