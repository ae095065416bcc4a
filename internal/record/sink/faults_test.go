package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/encoding/entries"
	"github.com/optrace/optrace/internal/record/encoding/otlp"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

// fault is a way for a write to end behind the n-th byte.
type fault struct {
	name  string
	ends  func(n int) (int, error)
	exact bool // the writer says how much it took
}

var faults = []fault{
	{"error", func(n int) (int, error) { return n, errFull }, true},
	{"short write", func(n int) (int, error) { return n, nil }, true},
	{"panic", func(int) (int, error) { panic("writer") }, false},
	{"error, no n", func(int) (int, error) { return 0, errFull }, false},
	{"negative n", func(int) (int, error) { return -1, errFull }, false},
	{"n beyond data", func(int) (int, error) { return 1 << 20, errFull }, false},
}

// The first write ends at every byte, in every way and every output. The final output can be read, the counts are
// exact, and the record behind a torn line heals it and states the missing entries.
func TestFaultyWriterMatrix(t *testing.T) {
	for _, o := range outputs {
		t.Run(o.String(), func(t *testing.T) {
			first := batchOf(o.format, spantest.Operation(0).Snapshot(), spantest.Operation(1).Snapshot(),
				otherService(2))
			var whole bytes.Buffer
			check.OK(t, submit(o.open(t, ToWriter(&whole)), first))
			size := whole.Len()
			if o.format == entries.Format && o.compression != None {
				size -= 10 // the writer's random id makes it vary
			}
			ends := []int{} // of lines, before and behind their newlines
			for i, c := range whole.Bytes()[:size-1] {
				if c == '\n' && o.lines() {
					ends = append(ends, i, i+1)
				}
			}
			for _, f := range faults {
				for n := range cases.Some(t, 25, size) {
					testFault(t, o, f, n)
				}
				for _, n := range ends {
					testFault(t, o, f, n)
				}
			}
			if size == whole.Len() {
				testFault(t, o, faults[0], size) // all is written, and an error all the same
			}
		})
	}
}

// otherService returns the i-th operation of another service.
func otherService(i int) sdktrace.ReadOnlySpan {
	s := spantest.Operation(i)
	s.Resource = spantest.Service("evaluator")
	return s.Snapshot()
}

// testFault lets the first write end behind n bytes.
func testFault(t *testing.T, o output, f fault, n int) {
	t.Helper()
	failf := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s at byte %d: %s", f.name, n, fmt.Sprintf(format, args...))
	}
	w := &spantest.FaultyWriter{N: n, Fault: f.ends}
	s := o.open(t, ToWriter(w))
	gaps := uint64(0)
	if o.healsLines() {
		gaps = 5
		s.Drop("queue_full", gaps)
	}
	first := batchOf(o.format, spantest.Operation(0).Snapshot(), spantest.Operation(1).Snapshot(), otherService(2))
	if err := submit(s, first); err == nil {
		failf("no error")
	}
	if st := s.Stats(); st.Written+st.Dropped+st.Underway != 3+gaps {
		failf("the books say %+v", st)
	}
	if err := errors.Join(submit(s, batch(o.format, 2)), s.Shutdown(t.Context())); err != nil {
		failf("what comes next fails: %v", err)
	}
	st := s.Stats()
	checkEnd(t, st, 5+gaps)
	if !f.exact && !o.healsLines() {
		return // the writer did not give the rest
	}
	rec := spantest.Read(t, w.Bytes())
	steps := rec.Steps()
	if len(rec.Malformed) > 1 || !slices.Equal(steps[len(steps)-2:], []int64{0, 1}) {
		failf("operations %v, and %v cannot be read", steps, rec.Malformed)
	}
	switch {
	case !o.healsLines() && n > 0: // the rest went first
		if !slices.Equal(steps, []int64{0, 1, 2, 0, 1}) || st.Written != 5 {
			failf("the books say %+v, operations %v", st, steps)
		}
	case !o.healsLines():
		if len(steps) != 2 || st.Written != 2 {
			failf("the books say %+v, operations %v", st, steps)
		}
	default:
		again := uint64(0) // gaps that may or may not be written
		if !f.exact {
			again = gaps
		}
		if lost := rec.Lost(); lost != st.Dropped && lost != st.Dropped+again || f.exact &&
			uint64(len(steps)) != st.Written {
			failf("the books say %+v, with %d operations and gaps of %d", st, len(steps), rec.Lost())
		}
		if last := rec.Entries[len(steps)-1]; last.Service != "trainer" {
			failf("the last operation is said to be of service %q", last.Service)
		}
		if text := w.Bytes(); f.exact && n > 0 && (text[0] == '\n' || bytes.Contains(text, []byte("\n\n"))) {
			failf("there is an empty line")
		}
	}
}

// errDeadline is a temporary error, such as a connection's.
type errDeadline struct{}

func (errDeadline) Error() string   { return "i/o timeout" }
func (errDeadline) Temporary() bool { return true }

// Any error of a write is returned, the operations are counted, and the next written batch states the number missing.
// A write without a byte and with a temporary error is repeated.
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
		{"E1 short write", nil, 10, 1, io.ErrShortWrite, 1}, {"E1 nothing taken", nil, 0, 1, io.ErrShortWrite, 1},
		{"E2 interrupted", path(syscall.EINTR), 0, 1, nil, 2}, {"E2 would block", syscall.EAGAIN, 0, 4, nil, 5},
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
				s := output{entries.Format, None}.open(t, ToWriter(spantest.WriterFunc(func(p []byte) (int, error) {
					if calls++; calls > tt.times {
						return out.Write(p)
					}
					out.Write(p[:tt.taken])
					return tt.taken, tt.err
				})))
				start := time.Now()
				if err := submit(s, batch(entries.Format, 3)); !errors.Is(err, tt.want) ||
					(err == nil) != (tt.want == nil) {
					t.Errorf("the error is %v, want %v", err, tt.want)
				}
				if calls != tt.tried || time.Since(start) > 20*time.Millisecond {
					t.Errorf("%d writes within %v, want %d", calls, time.Since(start), tt.tried)
				}
				calls = tt.times
				check.OK(t, submit(s, batch(entries.Format, 2)))
				want := Stats{Written: 5}
				if tt.want != nil {
					want = Stats{Written: 2, Dropped: 3}
				}
				rec := spantest.Read(t, out.Bytes())
				if st := s.Stats(); st != want || rec.Lost() != st.Dropped || uint64(len(rec.Entries)) != st.Written {
					t.Errorf("the books say %+v, with %d operations and gaps of %d", st, len(rec.Entries), rec.Lost())
				}
			})
		})
	}
}

// After five failures in a row the writer is left alone for a second, up to thirty.
func TestCircuitBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		broken := true
		var out bytes.Buffer
		s := output{entries.Format, None}.open(t, ToWriter(spantest.WriterFunc(func(p []byte) (int, error) {
			calls++
			if broken {
				return 0, errFull
			}
			return out.Write(p)
		})))
		export := func(n int) (err error) {
			for range n {
				err = submit(s, batch(entries.Format, 1))
			}
			return err
		}
		if err := export(20); err == nil || calls != 5 {
			t.Errorf("%d writes in a row, want 5; the last batch ends with %v", calls, err)
		}
		for _, seconds := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			before := calls
			time.Sleep(seconds*time.Second - time.Nanosecond)
			if _ = export(3); calls != before {
				t.Errorf("a write before the pause of %d s is over", seconds)
			}
			time.Sleep(time.Nanosecond)
			if _ = export(3); calls != before+1 {
				t.Errorf("%d writes after a pause of %d s, want one", calls-before, seconds)
			}
		}
		broken = false
		time.Sleep(30 * time.Second)
		check.OK(t, export(3)) // the writer has recovered
		st := s.Stats()
		rec := spantest.ReadWhole(t, out.Bytes())
		checkEnd(t, st, 20+7*6+3)
		if rec.CheckBatches(t); len(rec.Entries) != 3 || rec.Lost() != st.Dropped {
			t.Errorf("%d operations and gaps of %d, the books say %+v", len(rec.Entries), rec.Lost(), st)
		}
	})
}

// Shutdown writes the rest of a batch and the last gaps, even if its context is done. Entries with an unwritable rest
// are dropped.
func TestShutdownWritesTheRest(t *testing.T) {
	for _, o := range outputs {
		for _, tt := range []struct {
			name         string
			taken        int // by the failing write
			broken, done bool
		}{
			{"the writer recovers", 20, false, false}, {"the context is done", 20, false, true},
			{"the writer stays broken", 20, true, false}, {"nothing is taken", 0, false, false},
		} {
			t.Run(o.String()+", "+tt.name, func(t *testing.T) {
				w := &spantest.FaultyWriter{N: tt.taken, Fault: faults[0].ends, Broken: tt.broken}
				s := o.open(t, ToWriter(w))
				recycled := -1
				check.OK(t, s.Acquire(t.Context()))
				check.Is(t, "", errFull, s.Submit(t.Context(), batch(o.format, 3),
					func(b *encoding.Batch) { recycled = b.Written }))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.done {
					cancel()
				}
				if err := s.Shutdown(ctx); tt.broken != (err != nil) {
					t.Errorf("Shutdown returns %v", err)
				}
				want := Stats{Written: 3}
				if o.healsLines() || tt.broken || tt.taken == 0 {
					want = Stats{Dropped: 3}
				}
				if st := s.Stats(); st != want || recycled != int(want.Written) {
					t.Errorf("the books say %+v, and the batch %d, want %+v", st, recycled, want)
				}
				if tt.broken {
					return
				}
				if tt.taken == 0 && o.format.Name() != "entries" { // OTLP has no place for gaps
					check.Equal(t, "written", "", string(bytes.TrimSpace(w.Bytes())))
					return
				}
				if rec := spantest.Read(t, w.Bytes()); len(rec.Entries) != int(want.Written) ||
					rec.Lost() != want.Dropped {
					t.Errorf("%d operations and gaps of %d", len(rec.Entries), rec.Lost())
				}
			})
		}
	}
}

// Submit and Shutdown end with their contexts although the writer does not return. The write goes on, and its entries count
// as written when it ends.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := spantest.NewStuckWriter()
		s := output{entries.Format, None}.open(t, ToWriter(w))
		within := func(want time.Duration, f func(ctx context.Context) error) {
			t.Helper()
			ctx, cancel := context.WithTimeout(context.Background(), want)
			defer cancel()
			start := time.Now()
			if err := f(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != want {
				t.Errorf("%v after %v, want the deadline after %v", err, time.Since(start), want)
			}
		}
		within(3*time.Second, func(ctx context.Context) error {
			return errors.Join(s.Acquire(ctx), s.Submit(ctx, batch(entries.Format, 2), nil))
		})
		check.Equal(t, "while a write is under way the books say", Stats{Underway: 2}, s.Stats())
		within(time.Second, s.Acquire)
		within(time.Second, s.Shutdown)
		w.Release()
		synctest.Wait()
		check.Equal(t, "at last the books say", Stats{Written: 2}, s.Stats())
		check.Equal(t, "writes", 1, w.Writes())
		check.Is(t, "after Shutdown", ErrShutdown, submit(s, batch(entries.Format, 1)))
		// The last gaps are no reason for Shutdown to wait longer than it may.
		w = spantest.NewStuckWriter()
		s = output{entries.Format, None}.open(t, ToWriter(w))
		s.Drop("queue_full", 2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		check.Is(t, "Shutdown", context.DeadlineExceeded, s.Shutdown(ctx))
		w.Release()
	})
}

// For any writer the counts are right at every moment: every entry is written, dropped or under way. In the end the
// written entries can be read, and gaps tell of the dropped ones.
func TestBooks(t *testing.T) {
	for _, o := range outputs {
		t.Run(o.String(), func(t *testing.T) {
			steps := cases.Count(t, 300, 1000)
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, 2))
				out := &disk{}
				s := o.open(t, ToWriter(out))
				given := uint64(0)
				recycled := uint64(0)
				for step := range steps {
					if rng.IntN(3) == 0 {
						out.room = rng.IntN(3000)
					}
					if rng.IntN(10) == 0 {
						time.Sleep(time.Minute) // the breaker lets one through
					}
					b := batch(o.format, 1+rng.IntN(8))
					given += uint64(b.Entries)
					if rng.IntN(5) == 0 {
						given += 3
						s.Drop("queue_full", 3)
						recycled += 3
					}
					check.OK(t, s.Acquire(t.Context()))
					// The errors are the disk's.
					_ = s.Submit(t.Context(), b, func(b *encoding.Batch) { recycled += uint64(b.Entries) })
					st := s.Stats()
					if st.Written+st.Dropped+st.Underway != given || st.Written+st.Dropped != recycled {
						t.Fatalf("step %d: the books say %+v, %d were given and %d given back", step, st, given,
							recycled)
					}
				}
				out.room = 1 << 30
				check.OK(t, s.Shutdown(t.Context()))
				st := s.Stats()
				rec := spantest.Read(t, out.Bytes())
				checkEnd(t, st, given)
				if st.Written == 0 || st.Dropped == 0 || uint64(len(rec.Entries)) != st.Written {
					t.Errorf("the books say %+v, %d operations can be read", st, len(rec.Entries))
				}
				if !o.healsLines() && len(rec.Malformed) > 0 {
					t.Errorf("%v", rec.Malformed)
				}
				if o.format != entries.Format {
					return
				}
				check.Equal(t, fmt.Sprintf("the books say %+v, gaps tell", st), st.Dropped, rec.Lost())
				sequence := int64(-1)
				for _, b := range rec.Batches {
					if b.Sequence != sequence+1 && b.Sequence != sequence+2 { // its record may be cut off
						t.Errorf("batch %d follows batch %d", b.Sequence, sequence)
					}
					sequence = b.Sequence
				}
			})
		})
	}
}

// No batch is written at the end without need, and a header only after a change of the resource.
func TestNothingNeedless(t *testing.T) {
	out := &disk{room: 1 << 30}
	s := output{entries.Format, None}.open(t, ToWriter(out))
	var want []string
	for _, services := range []string{"aa", "aa", "bb", "aab", "bb", "aa"} {
		var spans []sdktrace.ReadOnlySpan
		for i, service := range services {
			stub := spantest.Operation(i)
			stub.Resource = spantest.Service(string(service))
			spans = append(spans, stub.Snapshot())
			want = append(want, string(service))
		}
		check.OK(t, submit(s, batchOf(entries.Format, spans...)))
	}
	before := out.Len()
	shutdown(t, s)
	shutdown(t, s)
	check.Equal(t, "bytes after two Shutdowns", before, out.Len())
	rec := spantest.ReadWhole(t, out.Bytes())
	var got []string
	for _, e := range rec.Entries {
		got = append(got, e.Service)
	}
	check.Equal(t, "operations come from", want, got)
	check.Equal(t, "headers: the fifth batch goes on with what the fourth ended with", 5, len(rec.Resources))
}

func TestCompressionNames(t *testing.T) {
	for c, want := range map[Compression]string{None: "none", Gzip: "gzip", Zstd: "zstd", 7: "Compression(7)"} {
		check.Equal(t, fmt.Sprintf("compression %d", c), want, c.String())
	}
	_, err := New(ToWriter(&disk{}), entries.Format, 7, nil)
	check.Says(t, "New with an unknown compression", "unknown compression 7", err)
}

// strictTarget is a slow target. It fails the test if two goroutines use it at once, after a use behind its end, or
// after a second end.
type strictTarget struct {
	writer
	t      *testing.T
	pause  time.Duration
	inUse  atomic.Bool
	closed atomic.Bool
}

// use is called by every method. The returned function ends the use.
func (s *strictTarget) use(what string) (end func()) {
	if !s.inUse.CompareAndSwap(false, true) {
		s.t.Errorf("%s while the target is in use", what)
	}
	if s.closed.Load() {
		s.t.Errorf("%s after the end", what)
	}
	return func() { s.inUse.Store(false) }
}

func (s *strictTarget) Write(p []byte) (int, error) {
	defer s.use("a write")()
	time.Sleep(s.pause)
	return len(p), nil
}

func (s *strictTarget) Close() error {
	defer s.use("the end")()
	s.closed.Store(true)
	return nil
}

// submitOne writes a batch of one entry, or counts it as dropped where ctx ends before.
func submitOne(ctx context.Context, s *Sink) error {
	if err := s.Acquire(ctx); err != nil {
		s.Drop("timeout", 1)
		return err
	}
	b := encoding.NewBatch(0)
	b.Records = append(b.Records, `{"operation":"relu","duration_us":1}`+"\n"...)
	b.Entries = 1
	return s.Submit(ctx, b, nil)
}

// F2: batches, flushes and ends come in any order and at any moment. The target is ended once, gets no write after
// that, no call waits for ever, and every entry is written or dropped.
func TestSinkConcurrentSafe(t *testing.T) {
	const writers, batches = 3, 4
	rounds := cases.Count(t, 100, 1000)
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for round := range rounds {
			target := &strictTarget{t: t, pause: time.Duration(r.IntN(3)) * time.Millisecond}
			s := check.Must(New(target, entries.Format, None, nil))(t)
			var wg sync.WaitGroup
			at := func(do func(ctx context.Context)) { // at some moment, with some time for it
				start := time.Duration(r.IntN(20)) * time.Millisecond
				least := r.IntN(10)
				wg.Go(func() {
					ctx := context.Background()
					cancel := context.CancelFunc(func() {})
					if least > 0 {
						ctx, cancel = context.WithTimeout(ctx, time.Duration(least)*time.Millisecond)
					}
					defer cancel()
					time.Sleep(start)
					do(ctx)
				})
			}
			for range writers {
				at(func(ctx context.Context) {
					for range batches {
						err := submitOne(ctx, s)
						if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrShutdown) {
							t.Errorf("round %d: %v", round, err)
						}
					}
				})
				at(func(ctx context.Context) { // as ForceFlush does
					if s.Acquire(ctx) == nil {
						s.Release()
					}
				})
			}
			for range 2 {
				at(func(ctx context.Context) { _ = s.Shutdown(ctx) }) // its context may end
			}
			wg.Wait()
			check.OK(t, s.Shutdown(t.Context()))
			time.Sleep(time.Second) // the delayed end
			checkEnd(t, s.Stats(), writers*batches)
			if !target.closed.Load() {
				t.Errorf("round %d: the target has not ended", round)
			}
		}
	})
}

// output is a format with a compression.
type output struct {
	format      encoding.Format
	compression Compression
}

func (o output) String() string { return o.format.Name() + " " + o.compression.String() }

// lines reports whether a newline heals a truncated record.
func (o output) lines() bool {
	_, ok := o.format.(encoding.Lines)
	return o.compression == None && ok
}

// healsLines reports whether a truncated record is given up, up to its last whole line. Other outputs write the rest
// later.
func (o output) healsLines() bool { return o.compression == None && o.format.Name() == "entries" }

var outputs = []output{
	{entries.Format, None}, {entries.Format, Gzip}, {entries.Format, Zstd},
	{otlp.JSON, None}, {otlp.JSON, Gzip}, {otlp.JSON, Zstd},
	{otlp.Proto, None}, {otlp.Proto, Gzip}, {otlp.Proto, Zstd},
}

// open returns a sink of o to a target.
func (o output) open(tb testing.TB, to Target) *Sink {
	tb.Helper()
	return check.Must(New(to, o.format, o.compression, nil))(tb)
}

// written returns a sink's output for two batches of the given numbers of operations.
func (o output) written(tb testing.TB, n, m int) (first, second []byte) {
	tb.Helper()
	var out bytes.Buffer
	s := o.open(tb, ToWriter(&out))
	write := func(n int) []byte {
		out.Reset()
		check.OK(tb, submit(s, batch(o.format, n)))
		return bytes.Clone(out.Bytes())
	}
	return write(n), write(m)
}

// batch returns a batch of n operations.
func batch(f encoding.Format, n int) *encoding.Batch { return batchOf(f, spantest.Operations(n)...) }

// batchOf returns a batch of spans.
func batchOf(f encoding.Format, spans ...sdktrace.ReadOnlySpan) *encoding.Batch {
	b := encoding.NewBatch(0)
	enc := f.NewEncoder(nil, 0)
	withOps := new(traces.WithOps)
	for _, s := range spans {
		if _, err := encoding.AddSpan(enc, b, s, withOps); err != nil {
			panic(err)
		}
	}
	return b
}

// submit writes a batch.
func submit(s *Sink, b *encoding.Batch) error {
	if err := s.Acquire(context.Background()); err != nil {
		return err
	}
	return s.Submit(context.Background(), b, nil)
}

// checkEnd checks the sum of written and dropped entries after Shutdown.
func checkEnd(tb testing.TB, st Stats, n uint64) {
	tb.Helper()
	if st.Underway != 0 || st.Written+st.Dropped != n {
		tb.Errorf("the books say %+v, %d were given", st, n)
	}
}

var errFull = errors.New("full")

// disk takes as many bytes as there is room for.
type disk struct {
	bytes.Buffer
	room int
}

func (d *disk) Write(p []byte) (int, error) {
	n, _ := d.Buffer.Write(p[:min(len(p), d.room)])
	d.room -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

// TestMain fails where a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAwait(t *testing.T) {
	errWork := errors.New("work")
	for _, tt := range []struct {
		name           string
		timeout, takes time.Duration
		want           error
	}{
		{"in time", time.Second, time.Millisecond, errWork},
		{"in the grace", time.Second, 1050 * time.Millisecond, errWork},
		{"done before", 0, 50 * time.Millisecond, errWork},
		{"too late", time.Second, time.Minute, context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()
				err := Await(ctx, 100*time.Millisecond, func() error { time.Sleep(tt.takes); return errWork })
				check.Is(t, "", tt.want, err)
				time.Sleep(tt.takes)
			})
		})
	}
}
