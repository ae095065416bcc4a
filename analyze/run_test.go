package analyze

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

const runLines = `{"operation":"matmul","device_id":"cuda:0","duration_us":3,"start_unix_ns":1000,` +
	`"trace_id":"00000000000000000000000000000001","span_id":"0000000000000002","parent_span_id":"0000000000000001"}
not JSON
{"span":{"name":"request","trace_id":"00000000000000000000000000000001","span_id":"0000000000000001","start_unix_ns":0,"duration_ns":9000}}
{"operation":"relu","device_id":"cuda:1","duration_us":1,"start_unix_ns":5000,` +
	`"trace_id":"00000000000000000000000000000001","span_id":"0000000000000003","parent_span_id":"0000000000000001"}
`

// The report does not depend on the number of workers.
func TestRunWorkersConcurrentSafe(t *testing.T) {
	report := func(workers int) string {
		r := check.Must(Run(t.Context(), filesOf(runLines, 9), Options{Workers: workers}))(t)
		if r.Input.Files != 9 || r.Input.Bytes != 9*int64(len(runLines)) {
			t.Errorf("%d files, %d bytes", r.Input.Files, r.Input.Bytes)
		}
		text := check.Must(json.Marshal(r))(t)
		return string(text)
	}
	want := report(1)
	for workers := range 5 {
		check.Equal(t, fmt.Sprintf("%d workers", workers), want, report(workers))
	}
}

// A saved report decodes, and other JSON does not.
func TestReportReadsBack(t *testing.T) {
	r := check.Must(Run(t.Context(), filesOf(runLines, 1), Options{}))(t)
	saved := check.Must(json.Marshal(r))(t)
	var back Report
	if err := json.Unmarshal(saved, &back); err != nil || back.Input.Entries != r.Input.Entries {
		t.Errorf("%d entries, error %v", back.Input.Entries, err)
	}
	for _, text := range []string{"{}", `{"schema":"optrace.doctor/v1"}`, `{"schema":"optrace.report/v2"}`, "[]"} {
		check.Says(t, fmt.Sprintf("%s is read as a report", text), "", json.Unmarshal([]byte(text), &back))
	}
}

// Filtered operations are in no figure, are counted, and keep the place of operations below.
func TestRunFilter(t *testing.T) {
	specs := []tracetest.Spec{
		tracetest.SpanAt("request", 1, 0, 1, 101), tracetest.OpAt("layer", 2, 1, 2, 12),
		tracetest.OpAt("matmul", 3, 2, 3, 13),
		tracetest.OpAt("copy", 4, 2, 4, 14),
	}
	opts := Options{Filter: func(e *op.Entry) bool { return e.Operation == "matmul" }}
	r := check.Must(Run(t.Context(), Records(recordtest.All(plainRecords(specs)...)), opts))(t)
	in := r.Input
	if in.Entries != 1 || in.Spans != 4 || in.Orphans.V != 0 || in.SkippedBy["filtered"] != 2 || r.Total.SumNS != 10 {
		t.Errorf("input %+v, total %+v", in, r.Total)
	}
}

func TestRunErrors(t *testing.T) {
	gone := errors.New("disk gone")
	endless := func(yield func(op.Record, error) bool) {
		for yield(op.Record{Entry: &op.Entry{Operation: "matmul"}}, nil) {
		}
	}
	failing := func(yield func(op.Record, error) bool) {
		yield(op.Record{}, &op.SyntaxError{Msg: "bad"})
		yield(op.Record{}, gone)
	}
	stopped, stop := context.WithCancelCause(t.Context())
	stop(io.ErrClosedPipe)
	_, err := Run(t.Context(), Records(failing), Options{})
	check.Is(t, "Run", gone, err)
	_, err = Read(t.Context(), Records(failing), func(op.Record) {})
	check.Is(t, "Read", gone, err)
	_, err = Run(stopped, Records(endless), Options{})
	check.Is(t, "the cause of the context", io.ErrClosedPipe, err)
}

func TestRead(t *testing.T) {
	var names []string
	env := check.Must(Read(t.Context(), filesOf(runLines, 2), func(rec op.Record) {
		if rec.Entry != nil {
			names = append(names, rec.Entry.Operation)
		}
	}))(t)
	check.Equal(t, "", []string{"matmul", "relu", "matmul", "relu"}, names)
	if env.Files != 2 || env.Entries != 4 || env.Malformed != 2 || env.Skipped != 2 {
		t.Errorf("%+v", env)
	}
}

// Collecting an entry does not allocate.
func TestCollectorAddDoesNotAllocate(t *testing.T) {
	c := newCollector(Options{SumsOnly: true})
	e := op.Entry{Operation: "matmul", DeviceID: "cuda:0", OutputShape: op.Shape{2, 3}, Duration: 1000}
	add := func() { c.add(op.Record{Entry: &e}, nil) }
	for range 1000 {
		add()
	}
	check.Equal(t, "allocations per entry", 0, testing.AllocsPerRun(1000, add))
	if got := c.report(); got.Total.Count != got.Input.Entries || got.Total.Count != 2001 {
		t.Errorf("%d entries, %d in the total", got.Input.Entries, got.Total.Count)
	}
}

// Stated totals replace the sums of entries, for any worker.
func TestStatedTotals(t *testing.T) {
	parts := rand.New(rand.NewPCG(1, 1))
	total := func(stated, sum int64) op.Record { return op.Record{Total: &op.Total{Stated: stated, Sum: sum}} }
	for _, test := range []struct {
		name   string
		totals []op.Record
		stated op.Int
		share  op.Float
	}{
		{"none", nil, op.Int{}, op.KnownFloat(1)},
		{"the sum", []op.Record{total(100, 100)}, op.Int{}, op.KnownFloat(1)},
		{"more", []op.Record{total(400, 100)}, op.Known(400), op.KnownFloat(0.25)},
		{"of two files", []op.Record{total(110, 60), total(90, 40)}, op.Known(200), op.KnownFloat(0.5)},
		{"that differ but not together", []op.Record{total(50, 60), total(50, 40)}, op.Known(100), op.KnownFloat(1)},
		{"nothing", []op.Record{total(0, 100)}, op.Known(0), op.Float{}},
	} {
		records := test.totals
		for _, ns := range []int64{60, 40} {
			records = append(records, op.Record{Entry: &op.Entry{Operation: "send", Duration: ns}})
		}
		for workers := range 4 {
			r := collected(parts, records, Options{}, 1+workers)
			if r.Total.SumNS != 100 || r.Total.StatedNS != test.stated || r.Operations[0].Share != test.share {
				t.Errorf("%s: total %+v, share %v", test.name, r.Total, r.Operations[0].Share)
			}
		}
	}
}

// Devices called "" and "unknown" differ from a missing device in every table.
func TestDevicesThatLookLikeNone(t *testing.T) {
	var records []op.Record
	for _, e := range []op.Entry{
		{Operation: "a", Duration: 1, Start: op.Known(10)},
		{Operation: "a", Duration: 2, Start: op.Known(20), EmptyDevice: true},
		{Operation: "a", Duration: 3, Start: op.Known(30), DeviceID: device.Unknown},
		{Operation: "a", Duration: 4, Start: op.Known(40), DeviceID: "gpu:0"},
		{Operation: "a", Duration: 5, Start: op.Known(50)},
		{Operation: "a", Duration: 7, Start: op.Known(60), EmptyDevice: true},
	} {
		records = append(records, op.Record{Entry: &e})
	}
	for _, workers := range []int{1, 2, 3} {
		r := collected(rand.New(rand.NewPCG(1, 1)), records, Options{By: tracetest.Keys("device")}, workers)
		var got []string
		for i := range r.Devices {
			d := &r.Devices[i]
			got = append(got, fmt.Sprintf("%q %t %d %d", d.DeviceID, d.Named, d.SumNS, d.BusyNS.V))
		}
		for _, g := range r.Groups {
			got = append(got, fmt.Sprintf("%q %t %d %d", g.Key.Values[0].Text, g.Key.Values[0].Known, g.SumNS,
				g.SelfNS.V))
		}
		want := []string{
			`"" false 9 9`, `"unknown" false 6 6`, `"gpu:0" false 4 4`, `"unknown" true 3 3`,
			`"" true 9 9`, `"" false 6 6`, `"gpu:0" true 4 4`, `"unknown" true 3 3`,
		}
		check.Equal(t, fmt.Sprintf("%d workers", workers), want, got)
		check.Equal(t, fmt.Sprintf("%d workers: balance over: devices", workers), 3, r.LoadBalance.DeviceCount)
	}
}

// DeviceClock counts operations with a clock bound and has the largest bound.
func TestDeviceClock(t *testing.T) {
	var records []op.Record
	for _, bound := range []string{"", "1500", "2000", "7"} {
		e := &op.Entry{Operation: "matmul", DeviceID: "cuda:0", Start: op.Known(5), Duration: 5}
		if bound != "" {
			e.Attrs = []op.Attr{{Key: attrkey.ClockError, Value: bound, Type: op.AttrInt}}
		}
		records = append(records, op.Record{Entry: e})
	}
	r := check.Must(Run(t.Context(), Records(recordtest.All(records...)), Options{}))(t)
	check.Equal(t, "", &DeviceClock{Entries: 3, MaxErrorNS: 2000}, r.Input.DeviceClock)
}

func BenchmarkDefaultReport(b *testing.B) {
	records := slices.Collect(tracetest.Requests(20_000))
	opts := Options{Sections: []string{"overview"}}
	b.ReportAllocs()
	for b.Loop() {
		check.Must(Run(b.Context(), Records(recordtest.All(records...)), opts))(b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(records)), "ns/record")
}

// countdown is a context that is done after a number of calls of Err, and counts them.
type countdown struct {
	context.Context
	left, looks atomic.Int64
}

func (c *countdown) Err() error {
	c.looks.Add(1)
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func until(looks int64) *countdown {
	c := &countdown{Context: context.Background()}
	c.left.Store(looks)
	return c
}

// Run checks its context often and returns soon after the context is done, in every phase.
func TestRunEndsWithContext(t *testing.T) {
	const n = 4_000
	records := make([]op.Record, 0, 2*n)
	for i := range n {
		root := op.Span{Name: fmt.Sprint("GET /", i), TraceID: op.TraceID{14: byte(i >> 8), 15: byte(i)},
			SpanID: op.SpanID{0: 1, 7: 1},
			Start:  op.Known(int64(100 * i)), Duration: 300}
		e := op.Entry{Operation: "matmul", DeviceID: "cuda:0", TraceID: root.TraceID, SpanID: op.SpanID{0: 1, 7: 2},
			ParentSpanID: root.SpanID, Start: op.Known(int64(100*i + 10)), Duration: 50}
		root.TraceID[13] = 1
		e.TraceID[13] = 1
		if i > 0 && i%3 == 0 {
			root.Links = []op.Link{{TraceID: op.TraceID{13: 1, 14: byte((i - 1) >> 8), 15: byte(i - 1)},
				SpanID: root.SpanID}}
		}
		records = append(records, op.Record{Span: &root}, op.Record{Entry: &e})
	}
	run := func(c *countdown) error {
		_, err := Run(c, Records(recordtest.All(records...)), Options{})
		return err
	}
	whole := until(1 << 60)
	check.OK(t, run(whole))
	all := whole.looks.Load()
	if all < n {
		t.Errorf("only %d looks at the context in %d records", all, 2*n)
	}
	for part := range int64(8) {
		c := until(part * all / 20)
		if err := run(c); !errors.Is(err, context.Canceled) {
			t.Fatalf("canceled after %d of %d looks: %v", part*all/20, all, err)
		}
		if further := c.looks.Load() - part*all/20; further > 64 {
			t.Errorf("canceled after %d of %d looks, there were %d more", part*all/20, all, further)
		}
	}
}

type bounded struct {
	Source
	most, held int64
}

var errFull = errors.New("full")

func (b *bounded) Hold(n int64) error {
	if b.held += n; b.held > b.most {
		return errFull
	}
	return nil
}

func operations(n int, name func(i int) string) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		for i := range n {
			e := &op.Entry{Operation: name(i), Duration: int64(i), Start: op.Known(int64(i) * 1000)}
			if !yield(op.Record{Entry: e}, nil) {
				return
			}
		}
	}
}

// See docs/reliability.md: a report tells its source approximately the memory in use.
func TestHeldMemoryIsReported(t *testing.T) {
	for name, tc := range map[string]struct {
		n    int
		name func(i int) string
		sums bool
	}{
		"operations": {n: 60_000, name: func(int) string { return "matmul" }},
		"names":      {n: 5_000, name: func(i int) string { return fmt.Sprint(strings.Repeat("name", 100), i) }},
		"names, sums only": {n: 5_000, name: func(i int) string {
			return fmt.Sprint(strings.Repeat("name", 100),
				i)
		}, sums: true},
	} {
		t.Run(name, func(t *testing.T) {
			src := &bounded{Source: Records(operations(tc.n, tc.name)), most: 1 << 40}
			before := check.Heap()
			c := check.Must(collect(t.Context(), src, Options{SumsOnly: tc.sums}))(t)
			if c.forest != nil {
				c.forest.Build()
			}
			took := check.Heap() - before
			runtime.KeepAlive(c)
			if src.held < took*2/3 || src.held > took*3 {
				t.Errorf("%d bytes told, %d taken", src.held, took)
			}
		})
	}
}

// The table of steps may need more memory than the operations, and is included.
func TestStepsAreHeld(t *testing.T) {
	held := func(step func(i int64) int64) int64 {
		f := trace.New()
		for i := range int64(10_000) {
			f.Add(op.Record{Entry: &op.Entry{Operation: "m", Step: op.Known(step(i)), Start: op.Known(i * 1000),
				Duration: 1}})
		}
		before := check.Heap()
		bytes := f.Bytes()
		rows := steps.Rows(f)
		took := check.Heap() - before
		runtime.KeepAlive(rows)
		if bytes < took {
			t.Errorf("%d bytes told, %d taken", bytes, took)
		}
		return bytes
	}
	if one, many := held(func(int64) int64 { return 1 }), held(func(i int64) int64 { return i / 2 }); many < one+
		5_000*100 {
		t.Errorf("%d bytes with one step, %d with 5,000", one, many)
	}
}

// See docs/reliability.md: a report ends with the error of a source at its limit.
func TestReportEndsAtMemoryLimit(t *testing.T) {
	src := &bounded{Source: Records(operations(100_000, func(int) string { return "matmul" })), most: 1 << 20}
	_, err := Run(t.Context(), src, Options{})
	check.Is(t, "a report", errFull, err)
	src = &bounded{Source: src.Source, most: 1 << 20}
	if r, err := Run(t.Context(), src, Options{SumsOnly: true}); err != nil || r.Input.Entries != 100_000 {
		t.Errorf("error %v of sums, whose memory should not grow", err)
	}
	src = &bounded{Source: src.Source, most: 1 << 20}
	_, _, err = ReadForest(t.Context(), src, 1)
	check.Is(t, "a forest", errFull, err)
}

// See docs/reliability.md: longer texts than the exporter writes are cut in the same way in every figure.
func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("ä", profile.MaxText)
	records := func(yield func(op.Record, error) bool) {
		_ = yield(op.Record{Entry: &op.Entry{Operation: long, DeviceID: long, Duration: 5}}, nil) &&
			yield(op.Record{Span: &op.Span{Name: long}}, nil)
	}
	r, err := Run(t.Context(), Records(records), Options{})
	if err != nil || len(r.Operations) != 1 {
		t.Fatalf("report %+v, error %v", r, err)
	}
	name := r.Operations[0].Operation
	if len(name) > profile.MaxText || !strings.HasPrefix(name, "ää") || !strings.HasSuffix(name, "ä…") {
		t.Errorf("name of %d bytes, which ends with %q", len(name), name[len(name)-8:])
	}
	if got := r.Slowest[0]; got.Operation != name || len(got.DeviceID) > profile.MaxText {
		t.Errorf("the list of the slowest has a name of %d bytes", len(got.Operation))
	}
}

// See docs/reliability.md: empty spans need no memory.
func TestEmptySpansTakeNoMemory(t *testing.T) {
	f := trace.New()
	for range 1000 {
		f.Add(op.Record{Span: &op.Span{}})
		f.Add(op.Record{Span: &op.Span{Service: "api"}})
	}
	check.Equal(t, "rows", 0, f.Len())
	if f.Add(op.Record{Span: &op.Span{SpanID: op.SpanID{1}}}); f.Len() != 1 {
		t.Errorf("%d rows", f.Len())
	}
}
