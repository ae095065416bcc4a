package optrace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

// errDeadline is an error of a writer that says that it passes, as those of
// connections do.
type errDeadline struct{}

func (errDeadline) Error() string   { return "i/o timeout" }
func (errDeadline) Temporary() bool { return true }

// Whatever error a write ends with is returned, the operations are counted, and the
// next batch that can be written says how many are missing. A write that took nothing
// for a reason that passes is made again.
func TestWriterErrors(t *testing.T) {
	path := func(err error) error { return &os.PathError{Op: "write", Path: "ops.jsonl", Err: err} }
	for _, tt := range []struct {
		row   string
		err   error
		taken int // bytes of the write
		times int // how often it fails
		want  error
		tried int // writes
	}{
		{"E1 short write", nil, 10, 1, io.ErrShortWrite, 1},
		{"E1 nothing taken", nil, 0, 1, io.ErrShortWrite, 1},
		{"E2 interrupted", path(syscall.EINTR), 0, 1, nil, 2},
		{"E2 would block", syscall.EAGAIN, 0, 4, nil, 5},
		{"E2 a deadline of its own", errDeadline{}, 0, 2, nil, 3},
		{"E2 would block for long", syscall.EAGAIN, 0, 9, syscall.EAGAIN, 5},
		{"E2 interrupted half-way", syscall.EINTR, 10, 1, syscall.EINTR, 1},
		{"E3 disk full", path(syscall.ENOSPC), 10, 1, syscall.ENOSPC, 1},
		{"E3 file too large", path(syscall.EFBIG), 0, 1, syscall.EFBIG, 1},
		{"E3 read-only", path(syscall.EROFS), 0, 1, syscall.EROFS, 1},
		{"E3 broken disk", path(syscall.EIO), 0, 1, syscall.EIO, 1},
		{"E4 closed pipe", path(syscall.EPIPE), 0, 1, syscall.EPIPE, 1},
		{"E4 closed file", os.ErrClosed, 0, 1, os.ErrClosed, 1},
	} {
		t.Run(tt.row, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				calls := 0
				exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
					if calls++; calls > tt.times {
						return out.Write(p)
					}
					out.Write(p[:tt.taken])
					return tt.taken, tt.err
				}))
				start := time.Now()
				if err := exp.ExportSpans(t.Context(), spantest.Operations(3)); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
					t.Errorf("ExportSpans returns %v, want %v", err, tt.want)
				}
				if calls != tt.tried || time.Since(start) > 20*time.Millisecond {
					t.Errorf("%d writes within %v, want %d", calls, time.Since(start), tt.tried)
				}
				calls = tt.times
				if err := exp.ExportSpans(t.Context(), spantest.Operations(2)); err != nil {
					t.Fatal(err)
				}
				st, rec := exp.Stats(), read(t, out.Bytes())
				lost := uint64(0)
				if tt.want != nil {
					lost = 3
				}
				if st.Recorded != 5 || st.Dropped != lost || rec.lost() != lost || uint64(len(rec.entries)) != 5-lost {
					t.Errorf("stats %+v, %d entries and a loss of %d", st, len(rec.entries), rec.lost())
				}
				checkBooks(t, "exporter", st)
			})
		})
	}
}

// E5: a writer that changes what it is given, which io.Writer forbids, spoils no
// later batch, in any format.
func TestWriterThatChangesItsInput(t *testing.T) {
	for _, o := range outputs() {
		var out bytes.Buffer
		exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
			n, err := out.Write(p)
			for i := range p {
				p[i] = 'x'
			}
			return n, err
		}), o.options()...)
		proc := newProcessor(t, exp)
		for i := range 4 {
			for j := range 3 {
				proc.OnEnd(spantest.Operation(3*i + j).Snapshot())
			}
			if err := proc.ForceFlush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := proc.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := o.steps(t, out.Bytes(), 0)
		slices.Sort(got)
		if !slices.Equal(got, upTo(12)) {
			t.Errorf("%v: operations %v", o, got)
		}
	}
}

// E6: a nil context is taken for context.Background.
func TestNilContexts(t *testing.T) {
	var none context.Context
	var buf spantest.Buffer
	proc := newProcessor(t, newExporter(t, &buf))
	proc.OnEnd(spantest.Operation(0).Snapshot())
	if err := proc.ForceFlush(none); err != nil {
		t.Error(err)
	}
	rec := proc.Recorder(none)
	rec.Begin("matmul", "cuda:0")
	rec.Finish()
	if err := proc.Shutdown(none); err != nil {
		t.Error(err)
	}
	if n := len(readWhole(t, buf.Bytes()).entries); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
	spans := recordSpans(t, func(tr *optrace.Tracer) {
		_, o := tr.Start(none, "matmul", "cuda:0")
		o.End()
		_, prepared := prepare(t, tr, optrace.OpSpec{Name: "matmul"}).Start(none)
		prepared.End()
		rec := tr.Recorder(none)
		rec.Begin("matmul", "cuda:0")
		rec.Finish()
	})
	if len(spans) != 3 {
		t.Errorf("%d spans, want 3", len(spans))
	}
}
