package optrace_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/deviceclock"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
)

// mark is an event of a test, 0 until the device has passed it.
type mark struct {
	at         atomic.Int64
	bad, panic atomic.Bool
}

func (m *mark) Time() (at int64, done bool, err error) {
	if m.panic.Load() {
		panic("no such event")
	}
	if m.bad.Load() {
		return 0, false, errors.New("the device is gone")
	}
	at = m.at.Load()
	return at, at != 0, nil
}

// at returns a passed event.
func passedAt(at int64) *mark {
	m := new(mark)
	m.at.Store(at)
	return m
}

func newQueue(t testing.TB, to optrace.Recording, opts ...optrace.ProcessorOption) *optrace.Queue[*mark] {
	t.Helper()
	return check.Must(optrace.NewQueue[*mark](to, opts...))(t)
}

// inOrderOfLaunch sorts entries of a file by launch.
func inOrderOfLaunch(entries []*op.Entry) {
	slices.SortFunc(entries, func(a, b *op.Entry) int { return cmp.Compare(a.Launch.V, b.Launch.V) })
}

// onStream returns a prepared operation on a stream.
func onStream(t *testing.T, tr *optrace.Tracer, stream int64) *optrace.Prepared {
	t.Helper()
	spec := matmulSpec()
	spec.Stream = op.Known(stream)
	return prepare(t, tr, spec)
}

// Operations are recorded when the device has run them, in the order of each stream, below a request that has ended, as
// spans and as entries.
func TestDeviceQueue(t *testing.T) {
	for _, asSpans := range []bool{false, true} {
		entries, spans := entriesOf(t, func(tp *sdktrace.TracerProvider, p *optrace.Processor) {
			tr := optrace.NewTracer(tp)
			to := optrace.Recording(p)
			if asSpans {
				to = tr
			}
			q := newQueue(t, to)
			ctx, request := tp.Tracer("app").Start(t.Context(), "request")
			ctx = optrace.ContextWithStep(ctx, 5)
			var ends []*mark
			for i := range 6 {
				l := q.Begin(ctx, onStream(t, tr, int64(i%2)))
				ends = append(ends, new(mark))
				q.Launched(l, passedAt(time.Now().UnixNano()+1000), ends[i])
			}
			request.End()
			later := func(i int) { ends[i].at.Store(time.Now().UnixNano() + 5000) }
			check.Equal(t, "operations have ended before the device got there", 0, q.Poll())
			later(2) // after operation 0, which has not ended
			later(1)
			check.Equal(t, "operations have ended", 1, q.Poll())
			later(0)
			check.Equal(t, "operations have ended", 2, q.Poll())
			go func() {
				for i := 3; i < 6; i++ {
					later(i)
				}
			}()
			flush(t, q)
			check.Equal(t, "", optrace.QueueStats{Launched: 6, Recorded: 6}, q.Stats())
		})
		if len(entries) != 6 || len(spans) != 1 {
			t.Fatalf("%d entries and %d spans", len(entries), len(spans))
		}
		for _, e := range entries {
			if e.ParentSpanID != spans[0].SpanID || e.Step != op.Known(5) || !e.Launch.Known ||
				e.Start.V <= e.Launch.V || e.Duration <= 0 {
				t.Errorf("%+v", e)
			}
			if !asSpans && e.Root != "request" {
				t.Errorf("root %q: it was open at the launch", e.Root)
			}
		}
	}
}

// With a device clock the times are Unix times within the stated error.
func TestDeviceQueueDeviceClock(t *testing.T) {
	begin := time.Now()
	read := func() (int64, error) { return 7e12 + int64(float64(time.Since(begin))*1.0003), nil }
	var ran []time.Time
	entries, _ := entriesOf(t, func(tp *sdktrace.TracerProvider, p *optrace.Processor) {
		clock := deviceclock.New(deviceclock.Config{})
		q := newQueue(t, p, optrace.WithDeviceClock(clock, 5*time.Millisecond, read))
		prep := onStream(t, optrace.NewTracer(tp), 7)
		for range 50 {
			start := new(mark)
			end := new(mark)
			q.Launched(q.Begin(t.Context(), prep), start, end)
			ran = append(ran, time.Now())
			at, _ := read()
			start.at.Store(at)
			time.Sleep(200 * time.Microsecond)
			at, _ = read()
			end.at.Store(at)
			q.Poll()
		}
		shutdown(t, q)
		q.Launched(q.Begin(t.Context(), prep), new(mark), new(mark))
		check.Equal(t, "", optrace.QueueStats{Launched: 51, Recorded: 50, Dropped: 1}, q.Stats())
	})
	if len(entries) != 50 {
		t.Fatalf("%d entries", len(entries))
	}
	inOrderOfLaunch(entries)
	for i, e := range entries {
		if len(e.Attrs) != 1 || e.Attrs[0].Key != attrkey.ClockError || e.Attrs[0].Type != op.AttrInt ||
			e.Start.V < e.Launch.V {
			t.Fatalf("%+v", e)
		}
		// The host read the time shortly before the device's clock.
		off := e.Start.V - ran[i].UnixNano()
		if off < -int64(10*time.Millisecond) || off > int64(100*time.Millisecond) {
			t.Errorf("operation %d starts %d ns after it did", i, off)
		}
	}
}

// If a device clock runs backward, the times of a stream stand still, and the clock counts them.
func TestDeviceQueueClockRunsBackward(t *testing.T) {
	begin := time.Now()
	read := func() (int64, error) { return 7e12 + int64(time.Since(begin)), nil }
	clock := deviceclock.New(deviceclock.Config{})
	entries, _ := entriesOf(t, func(tp *sdktrace.TracerProvider, p *optrace.Processor) {
		q := newQueue(t, p, optrace.WithDeviceClock(clock, time.Millisecond, read))
		prep := onStream(t, optrace.NewTracer(tp), 7)
		q.Poll() // the clock has an earlier pair
		first := q.Begin(t.Context(), prep)
		second := q.Begin(t.Context(), prep)
		at, _ := read()
		at += int64(10 * time.Millisecond)
		q.Launched(first, passedAt(at), passedAt(at+9_000_000))
		q.Launched(second, passedAt(at+4_000_000), passedAt(at+5_000_000))
		time.Sleep(25 * time.Millisecond)
		flush(t, q)
		check.Equal(t, "", optrace.QueueStats{Launched: 2, Recorded: 2}, q.Stats())
	})
	if len(entries) != 2 {
		t.Fatalf("%d entries", len(entries))
	}
	inOrderOfLaunch(entries)
	if end := entries[0].Start.V + entries[0].Duration; entries[1].Start.V != end || entries[1].Duration != 0 {
		t.Errorf("the first ends at %d, the second starts at %d and takes %d", end, entries[1].Start.V,
			entries[1].Duration)
	}
	check.Equal(t, "times that run backward, and steps", [2]uint64{1, 0},
		[2]uint64{clock.Stats().Backward, clock.Stats().Steps})
}

// Unrecorded operations are counted by reason.
func TestDeviceQueueCountsWhatGoesWrong(t *testing.T) {
	now := func(d time.Duration) int64 { return time.Now().Add(d).UnixNano() }
	broken := new(mark)
	broken.bad.Store(true)
	panics := new(mark)
	panics.panic.Store(true)
	told := make(chan error, 100)
	spantest.HandleErrors(t, func(err error) { told <- err })
	var stats optrace.Stats
	entries, _ := entriesOf(t, func(tp *sdktrace.TracerProvider, p *optrace.Processor) {
		prep := prepare(t, optrace.NewTracer(tp), matmulSpec())
		q := newQueue(t, p, optrace.WithEventTimeout(5*time.Millisecond))
		launch := func(start, end *mark) { q.Launched(q.Begin(t.Context(), prep), start, end) }
		launch(passedAt(now(0)), broken)
		launch(broken, passedAt(now(0)))
		launch(passedAt(now(0)), panics)
		launch(panics, passedAt(now(0)))
		launch(passedAt(now(2*time.Second)), passedAt(now(time.Second))) // reversed
		launch(passedAt(now(-time.Second)), passedAt(now(time.Second)))  // early
		launch(new(mark), passedAt(now(0)))                              // never starts
		launch(passedAt(now(0)), new(mark))                              // never ends
		launch(passedAt(now(time.Second)), passedAt(now(2*time.Second)))
		q.Launched(q.Begin(t.Context(), nil), new(mark), new(mark))
		q.Launched(optrace.Launch{}, new(mark), new(mark)) // no effect
		twice := q.Begin(t.Context(), prep)
		q.Launched(twice, broken, broken)
		q.Launched(twice, broken, broken) // no effect
		flush(t, q)
		check.Equal(t, "", optrace.QueueStats{Launched: 11, Recorded: 3, Lost: 8, Reversed: 1, Early: 1}, q.Stats())
		stats = p.Stats()
	})
	inOrderOfLaunch(entries)
	if len(entries) != 3 || entries[0].Warn != op.WarnNegativeDuration || stats.Dropped != 8 {
		t.Errorf("%+v, %+v", entries, stats)
	}
	check.Says(t, "the first in ten seconds", "it is not prepared", <-told)
	check.Equal(t, "further errors told", 0, len(told))

	// With a wrong clock every operation is unplaced.
	mem := tracetest.NewInMemoryExporter()
	tr := optrace.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(mem)))
	device := int64(0)
	q := newQueue(t, tr,
		optrace.WithDeviceClock(deviceclock.New(deviceclock.Config{}), time.Millisecond, func() (int64, error) {
			device += 1000
			return device, nil
		}))
	q.Launched(q.Begin(t.Context(), prepare(t, tr, matmulSpec())), passedAt(-1e15), passedAt(-1e15+5))
	flush(t, q)
	check.Equal(t, "unplaced, and spans", [2]int{1, 0}, [2]int{int(q.Stats().Unplaced), len(mem.GetSpans())})
}

// An operation of an unsampled trace is skipped.
func TestDeviceQueueUnsampled(t *testing.T) {
	tp := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	tr := optrace.NewTracer(tp)
	ctx, _ := tp.Tracer("app").Start(t.Context(), "request")
	q := newQueue(t, tr)
	q.Launched(q.Begin(ctx, prepare(t, tr, matmulSpec())), new(mark), new(mark))
	check.Equal(t, "", optrace.QueueStats{Launched: 1, Skipped: 1}, q.Stats())
	tp = sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysRecord(sdktrace.NeverSample())))
	ctx, request := tp.Tracer("app").Start(t.Context(), "request")
	request.End() // recorded, like the operations below it
	later := passedAt(time.Now().Add(time.Hour).UnixNano())
	q.Launched(q.Begin(ctx, prepare(t, tr, matmulSpec())), later, later)
	flush(t, q)
	check.Equal(t, "", optrace.QueueStats{Launched: 2, Skipped: 1, Recorded: 1}, q.Stats())
}

// If a ring is full, the policy decides. Other streams have their own rings.
func TestDeviceQueueWithoutRoom(t *testing.T) {
	for policy, want := range map[optrace.Policy]string{
		optrace.PolicyDropNewest: "0 1 other", optrace.PolicyDropOldest: "2 3 other",
		optrace.PolicyBlock: "0 1 2 3 other",
	} {
		mem := tracetest.NewInMemoryExporter()
		tr := optrace.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(mem)))
		q := newQueue(t, tr, optrace.WithQueueSize(2), optrace.WithPolicy(policy), nil)
		ends := make([]*mark, 4)
		for i := range ends {
			ends[i] = new(mark)
		}
		pass := func(i int) { ends[i].at.Store(ended) }
		var wg sync.WaitGroup
		launched := make(chan int, len(ends))
		for i, name := range []string{"0", "1", "2", "3"} {
			if policy == optrace.PolicyBlock && i == 2 {
				wg.Go(func() { pass(<-launched); pass(<-launched) })
			}
			q.Launched(q.Begin(t.Context(), prepare(t, tr, optrace.OpSpec{Name: name, Stream: op.Known(1)})),
				passedAt(started), ends[i])
			launched <- i
		}
		wg.Wait()
		q.Launched(q.Begin(t.Context(), prepare(t, tr, optrace.OpSpec{Name: "other", Stream: op.Known(2)})),
			passedAt(started), passedAt(ended))
		for i := range ends {
			pass(i)
		}
		flush(t, q)
		var names []string
		for _, s := range mem.GetSpans() {
			names = append(names, s.Name)
		}
		st := q.Stats()
		got := strings.Join(names, " ")
		if got != want || st.Launched != 5 || st.Recorded+st.Dropped != 5 || int(st.Recorded) != len(names) {
			t.Errorf("%v: recorded %q, want %q; %+v", policy, got, want, st)
		}
	}
}

// A flush waits until its context ends and returns the number of pending operations. Shutdown counts them.
func TestDeviceQueueFlushIsBounded(t *testing.T) {
	tr := optrace.NewTracer(noopProvider(t))
	q := newQueue(t, tr)
	for range 3 {
		q.Launched(q.Begin(t.Context(), prepare(t, tr, matmulSpec())), new(mark), new(mark))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := q.ForceFlush(ctx)
	check.Is(t, "", context.DeadlineExceeded, err)
	check.Says(t, "", "3 operations are pending", err)
	check.Equal(t, "pending", 3, q.Stats().Pending)
	check.Is(t, "", context.DeadlineExceeded, q.Shutdown(ctx))
	check.OK(t, q.Shutdown(ctx)) // again
	check.Equal(t, "", optrace.QueueStats{Launched: 3, Dropped: 3}, q.Stats())
}

func TestNewQueueErrors(t *testing.T) {
	clock := deviceclock.New(deviceclock.Config{})
	for i, opt := range []optrace.ProcessorOption{
		optrace.WithQueueSize(0), optrace.WithPolicy(9), optrace.WithEventTimeout(0),
		optrace.WithDeviceClock(clock, 1, nil),
	} {
		if q, err := optrace.NewQueue[*mark](optrace.NewTracer(nil), opt); q != nil || err == nil {
			t.Errorf("option %d: %v, error %v", i, q, err)
		}
	}
	if q, err := optrace.NewQueue[*mark](nil); q != nil || err == nil {
		t.Errorf("nothing to record with: %v, error %v", q, err)
	}
}

// Goroutines launch, poll and flush concurrently, and every operation is recorded once.
func TestDeviceQueueConcurrentSafe(t *testing.T) {
	const goroutines, each = 4, 300
	begin := time.Now()
	read := func() (int64, error) { return int64(time.Since(begin)) + 1, nil }
	entries, _ := entriesOf(t, func(tp *sdktrace.TracerProvider, p *optrace.Processor) {
		q := newQueue(t, p, optrace.WithQueueSize(50), optrace.WithPolicy(optrace.PolicyBlock),
			optrace.WithDeviceClock(deviceclock.New(deviceclock.Config{}), time.Millisecond, read))
		var wg sync.WaitGroup
		for g := range int64(goroutines) {
			prep := onStream(t, optrace.NewTracer(tp), g)
			wg.Go(func() {
				for i := range each {
					l := q.Begin(t.Context(), prep)
					start, _ := read()
					end, _ := read()
					q.Launched(l, passedAt(start), passedAt(end))
					if i%10 == 0 {
						q.Poll()
						q.Stats()
					}
				}
			})
		}
		wg.Wait()
		shutdown(t, q)
		check.Equal(t, "", optrace.QueueStats{Launched: goroutines * each, Recorded: goroutines * each}, q.Stats())
	})
	inOrderOfLaunch(entries)
	last := make(map[op.Int]int64)
	for _, e := range entries {
		if e.Start.V < last[e.Stream] {
			t.Fatalf("stream %v goes back", e.Stream)
		}
		last[e.Stream] = e.Start.V + e.Duration
	}
	if len(entries) != goroutines*each || len(last) != goroutines {
		t.Errorf("%d entries on %d streams", len(entries), len(last))
	}
}

// An operation does not allocate.
func TestDeviceQueueAllocations(t *testing.T) {
	cases.NotUnderRace(t, "pools are emptied at random under the race detector")
	tr := optrace.NewTracer(nil)
	prep := prepare(t, tr, matmulSpec())
	proc := newProcessor(t, newExporter(t, io.Discard))
	defer func() { _ = proc.Shutdown(t.Context()) }()
	q := newQueue(t, proc, optrace.WithQueueSize(100))
	start := passedAt(started)
	end := passedAt(ended)
	round := func() {
		for range 100 {
			q.Launched(q.Begin(context.Background(), prep), start, end)
		}
		q.Poll()
	}
	round()
	if got := testing.AllocsPerRun(50, round); got > 20 { // by Poll and the writing goroutine
		t.Errorf("100 operations make %v allocations", got)
	}
}
