package analyze

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// bounded is a Source with a memory limit.
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

// operations yields n operations with the given names.
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

// Row R2 of docs/reliability.md: a report tells its source approximately the memory in use.
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

// Row R2 of docs/reliability.md: a report ends with the error of a source at its limit.
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

// Row R2 of docs/reliability.md: longer texts than the exporter writes are cut in the same way in every figure.
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

// Row R2 of docs/reliability.md: empty spans need no memory.
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
