package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/encoding/entries"
	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/record/sink"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

// Waiting records are written at the interval, and sooner only if there are enough.
func TestBufferedFlushInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w spantest.Buffer
		out := newOutput(t, &w)
		exp := &spantest.Exporter{}
		cfg := newConfig(DropNewest)
		cfg.FlushInterval = time.Second
		cfg.MaxBytes = 8 << 20
		p := NewBuffered(out, cfg, new(observ.Errors))
		q := NewQueue(exp, cfg, new(observ.Errors))
		verify := func(when string, writes, spans int) {
			t.Helper()
			synctest.Wait()
			check.Equal(t, when+": writes and spans", [2]int{writes, spans}, [2]int{w.Writes(), len(exp.Spans())})
		}
		for i := range 2 {
			p.OnEnd(ended(spantest.Operation(0).Snapshot()))
			q.OnEnd(ended(spantest.Operation(0).Snapshot()))
			time.Sleep(time.Second - time.Nanosecond)
			verify("before the interval is over", i, i)
			time.Sleep(time.Nanosecond)
			verify("when the interval is over", i+1, i+1)
		}
		for i := range maxExportBatch {
			q.OnEnd(ended(spantest.Operation(i).Snapshot()))
		}
		verify("a whole batch", 2, 2+maxExportBatch)
		time.Sleep(time.Minute)
		verify("nothing to write", 2, 2+maxExportBatch)
		stop(t, p, out.Sink)
		stop(t, q, nil)
	})
}

// While the writer is stuck the policy decides which operations stay.
func TestBufferedPolicies(t *testing.T) {
	useOneShard(t)
	const n = 2000
	tests := []struct {
		policy Policy
		blocks bool
		// steps returns the steps expected in the output.
		steps func(kept []int64) []int64
	}{
		{policy: DropNewest, steps: func(kept []int64) []int64 { return ints(0, int64(len(kept))-1) }},
		{policy: DropOldest, steps: func(kept []int64) []int64 {
			// The first operations are being written; DropNewest drops the following ones. Both parts have an
			// operation at least.
			first := int64(1)
			for first < int64(len(kept))-1 && kept[first] == first {
				first++
			}
			return append(ints(0, first-1), ints(n-int64(len(kept))+first, n-1)...)
		}},
		{policy: Block, blocks: true, steps: func([]int64) []int64 { return ints(0, n-1) }},
	}
	for _, tt := range tests {
		t.Run(tt.policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := spantest.NewStuckWriter()
				out := newOutput(t, w)
				p := NewBuffered(out, newConfig(tt.policy), new(observ.Errors))
				produced := make(chan struct{})
				go func() {
					defer close(produced)
					for i := range n {
						p.OnEnd(ended(spantest.Operation(i).Snapshot()))
						if i < n/10 {
							time.Sleep(time.Millisecond) // the first buffer goes to the writer as soon as it is full
						}
					}
					p.OnEnd(ended(spantest.Request().Snapshot()))
				}()
				time.Sleep(time.Minute)
				synctest.Wait()
				select {
				case <-produced:
					if tt.blocks {
						t.Error("OnEnd returns although there is no room")
					}
					if st := p.Stats(); st.Recorded != n || st.Skipped != 1 || st.Dropped == 0 {
						t.Errorf("stats are %+v while the writer is stuck", st)
					}
				default:
					if !tt.blocks {
						t.Error("OnEnd blocks")
					}
				}
				w.Release()
				<-produced
				stop(t, p, out.Sink)
				got := read(t, w.Bytes())
				st := p.Stats()
				check.Equal(t, "steps written", tt.steps(got.Steps), got.Steps)
				kept := uint64(len(got.Steps))
				if kept == 0 {
					t.Error("nothing is written")
				}
				checkStats(t, st, Stats{Recorded: n, Written: kept, Dropped: n - kept, Skipped: 1})
				var gaps map[string]int64
				if !tt.blocks {
					gaps = map[string]int64{"queue_full": n - int64(kept)}
				}
				check.Equal(t, "gaps", gaps, got.Gaps)
			})
		})
	}
}

// panickingSpan is an operation whose attributes panic.
type panickingSpan struct{ sdktrace.ReadOnlySpan }

func (panickingSpan) Attributes() []attribute.KeyValue { panic("attributes") }

// An operation that cannot be converted or written is lost by itself, and gaps give the reason.
func TestBufferedLosses(t *testing.T) {
	useOneShard(t)
	broken := errors.New("broken")
	w := spantest.FaultyWriter{Fault: func(n int) (int, error) { return n, broken }}
	out := newOutput(t, &w)
	p := NewBuffered(out, newConfig(DropNewest), new(observ.Errors))
	for i := range 3 {
		p.OnEnd(ended(spantest.Operation(i).Snapshot()))
	}
	check.Is(t, "Flush", broken, p.Flush(t.Context()))
	p.OnEnd(ended(panickingSpan{spantest.Operation(3).Snapshot()}))
	p.OnEnd(ended(spantest.Operation(4).Snapshot()))
	stop(t, p, out.Sink)
	p.OnEnd(ended(spantest.Operation(5).Snapshot())) // too late
	p.OnEnd(ended(spantest.Request().Snapshot()))
	check.OK(t, p.Flush(t.Context()))
	checkStats(t, p.Stats(), Stats{Recorded: 6, Written: 1, Dropped: 5, Skipped: 1})
	want := written{Steps: []int64{4}, Gaps: map[string]int64{"conversion_failed": 1, "write_failed": 3}}
	check.Equal(t, "written", want, read(t, w.Bytes()))
}

// numbers returns the numbers of operations.
func numbers(tb testing.TB, spans []sdktrace.ReadOnlySpan) (all []int64) {
	tb.Helper()
	for _, s := range spans {
		id := s.SpanContext().SpanID()
		all = append(all, int64(id[6])<<8|int64(id[7])-1)
	}
	return all
}

func TestQueueFlush(t *testing.T) {
	exp := &spantest.Exporter{}
	cfg := newConfig(DropNewest)
	cfg.MaxBytes = 8 << 20
	p := NewQueue(exp, cfg, new(observ.Errors))
	const n = maxExportBatch + 10
	for i := range n {
		p.OnEnd(ended(spantest.Operation(i).Snapshot()))
	}
	check.OK(t, p.Flush(t.Context()))
	check.Equal(t, "exported", ints(0, n-1), numbers(t, exp.Spans()))
	for i, batch := range exp.Batches() {
		if len(batch) == 0 || len(batch) > maxExportBatch {
			t.Errorf("batch %d has %d spans", i, len(batch))
		}
	}
	p.OnEnd(ended(spantest.Request().Snapshot())) // other spans are forwarded too
	stop(t, p, nil)
	checkStats(t, p.Stats(), Stats{Recorded: n + 1, Written: n + 1})
	p.OnEnd(ended(spantest.Operation(0).Snapshot())) // too late
	checkStats(t, p.Stats(), Stats{Recorded: n + 2, Written: n + 1, Dropped: 1})
	check.Equal(t, "Stop shuts down the exporter, which is the Processor's to do", 0, exp.Shutdowns())
}

// While the exporter is stuck with one span the queue keeps as many as it has room for.
func TestQueuePolicies(t *testing.T) {
	const n, room = 20, 5
	for _, tt := range []struct {
		policy Policy
		want   []int64
	}{
		{DropNewest, ints(0, room)}, {DropOldest, append(ints(0, 0), ints(n-room+1, n)...)}, {Block, ints(0, n)},
	} {
		t.Run(tt.policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				exp := &spantest.Exporter{OnExport: func(context.Context) error { <-release; return nil }}
				cfg := newConfig(tt.policy)
				cfg.MaxBytes = room * spanBytes(spantest.Operation(0).Snapshot())
				p := NewQueue(exp, cfg, new(observ.Errors))
				p.OnEnd(ended(spantest.Operation(0).Snapshot()))
				flushed := make(chan error, 1)
				go func() { flushed <- p.Flush(context.Background()) }()
				synctest.Wait()
				produced := make(chan struct{})
				go func() {
					defer close(produced)
					for i := range n {
						p.OnEnd(ended(spantest.Operation(i + 1).Snapshot()))
					}
				}()
				synctest.Wait()
				select {
				case <-produced:
					checkStats(t, p.Stats(), Stats{Recorded: n + 1, Dropped: n - room})
				default:
					// The waiting one has been counted.
					checkStats(t, p.Stats(), Stats{Recorded: 1 + room + 1})
				}
				close(release)
				<-produced
				check.OK(t, <-flushed)
				stop(t, p, nil)
				check.Equal(t, "exported", tt.want, numbers(t, exp.Spans()))
				kept := uint64(len(tt.want))
				checkStats(t, p.Stats(), Stats{Recorded: n + 1, Written: kept, Dropped: n + 1 - kept})
			})
		})
	}
}

// A small queue is emptied before it is full, and a span larger than the bound passes an empty one.
func TestQueueSmallBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for bound, policy := range map[int64]Policy{MinMaxBytes: DropNewest, 1: Block} {
			const n = 300
			exp := &spantest.Exporter{}
			cfg := newConfig(policy)
			cfg.MaxBytes = bound
			p := NewQueue(exp, cfg, new(observ.Errors))
			for i := range n {
				p.OnEnd(ended(spantest.Operation(i).Snapshot()))
				synctest.Wait()
			}
			stop(t, p, nil)
			checkStats(t, p.Stats(), Stats{Recorded: n, Written: n})
			if bound == 1 && len(exp.Batches()) != n {
				t.Errorf("%d batches, want one for each span", len(exp.Batches()))
			}
		}
	})
}

func TestQueueExporterFails(t *testing.T) {
	refused := errors.New("refused")
	for _, tt := range []struct {
		name   string
		export func(context.Context) error
		want   string
	}{
		{"error", func(context.Context) error { return refused }, "optrace: exporting 1 spans: refused"},
		{"panic", func(context.Context) error { panic("boom") }, "optrace: exporter panicked: boom"},
		{"timeout", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			"optrace: exporting 1 spans: context deadline exceeded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := newConfig(DropNewest)
				cfg.ExportTimeout = time.Second
				p := NewQueue(&spantest.Exporter{OnExport: tt.export}, cfg, new(observ.Errors))
				p.OnEnd(ended(spantest.Operation(0).Snapshot()))
				if err := p.Flush(context.Background()); err == nil || err.Error() != tt.want {
					t.Errorf("Flush returns %v, want %s", err, tt.want)
				}
				stop(t, p, nil)
				checkStats(t, p.Stats(), Stats{Recorded: 1, Dropped: 1})
			})
		})
	}
}

// TestMain fails if a test leaves a goroutine behind. Errors provoked by tests are not logged.
func TestMain(m *testing.M) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	goleak.VerifyTestMain(m)
}

// newOutput returns an Output for entries to w.
func newOutput(tb testing.TB, w io.Writer) Output {
	tb.Helper()
	s := check.Must(sink.New(sink.ToWriter(w), entries.Format, sink.None, nil))(tb)
	return Output{Sink: s, Traces: new(traces.WithOps), Format: entries.Format}
}

// newConfig returns a configuration with the smallest buffers and an interval longer than any test.
func newConfig(policy Policy) Config {
	return Config{Policy: policy, MaxBytes: MinMaxBytes, FlushInterval: 100 * time.Hour, ExportTimeout: 50 * time.Hour}
}

// useOneShard gives pipelines of a test one shard, for a fixed order of records.
func useOneShard(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

func ended(s sdktrace.ReadOnlySpan) span.Ended {
	return span.Ended{Span: s, Context: s.SpanContext(), Parent: s.Parent()}
}

// written is the content of an output.
type written struct {
	Steps []int64          // of the entries
	Spans []string         // names of the spans above operations
	Gaps  map[string]int64 // operations dropped, by reason
}

func read(tb testing.TB, content []byte) (w written) {
	tb.Helper()
	rec := spantest.ReadWhole(tb, content)
	w.Steps = rec.Steps()
	for i := range rec.Spans {
		w.Spans = append(w.Spans, rec.Spans[i].Name)
	}
	for _, g := range rec.Gaps {
		if w.Gaps == nil {
			w.Gaps = make(map[string]int64)
		}
		w.Gaps[g.Reason] += g.Dropped
	}
	return w
}

// ints returns the numbers from first to last.
func ints(first, last int64) (all []int64) {
	for i := first; i <= last; i++ {
		all = append(all, i)
	}
	return all
}

func checkStats(tb testing.TB, got, want Stats) {
	tb.Helper()
	if got.Exported < got.Written || got.Lost > got.Dropped || got.Exported+got.Lost > got.Recorded ||
		got.Written+got.Dropped == got.Recorded && got.Exported+got.Lost != got.Recorded {
		tb.Errorf("stats do not add up: %+v", got)
	}
	got.Exported = want.Exported
	got.Lost = want.Lost
	check.Equal(tb, "stats", want, got)
}

func stop(tb testing.TB, p Pipeline, s *sink.Sink) {
	tb.Helper()
	check.OK(tb, p.Stop(context.Background()))
	if s != nil {
		check.OK(tb, s.Shutdown(context.Background()))
	}
}

func newFlight(out Output, cfg Config) *Flight {
	cfg.ExportTimeout = time.Minute
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 1 << 20
	}
	return NewFlight(out, entries.Format, cfg, new(observ.Errors))
}

func TestFlightDump(t *testing.T) {
	request := spantest.Request().Name
	for _, tt := range []struct {
		name    string
		entries int
		ended   int
		want    written
		stats   Stats
	}{
		{name: "nothing", entries: 3, stats: Stats{Skipped: 1}},
		{
			name: "not full", entries: 3, ended: 2, want: written{Steps: ints(0, 1), Spans: []string{request}},
			stats: Stats{Recorded: 2, Written: 2, Skipped: 1},
		},
		{
			name: "full", entries: 3, ended: 3, want: written{Steps: ints(0, 2), Spans: []string{request}},
			stats: Stats{Recorded: 3, Written: 3, Skipped: 1},
		},
		{
			name: "overwritten", entries: 3, ended: 50, want: written{Steps: ints(47, 49), Spans: []string{request},
				Gaps: map[string]int64{"flight_recorder": 47}}, stats: Stats{Recorded: 50, Written: 3, Dropped: 47,
				Skipped: 1},
		},
		{
			name: "larger than one write", entries: 6000, ended: 6000,
			want:  written{Steps: ints(0, 5999), Spans: []string{request}},
			stats: Stats{Recorded: 6000, Written: 6000, Skipped: 1},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var w spantest.Buffer
			out := newOutput(t, &w)
			p := newFlight(out, Config{Entries: tt.entries, MaxBytes: 8 << 20})
			for i := range tt.ended {
				p.OnEnd(ended(spantest.Operation(i).Snapshot()))
			}
			p.OnEnd(ended(spantest.Request().Snapshot()))
			check.OK(t, p.Flush(t.Context()))
			check.Equal(t, "writes without a dump", 0, w.Writes())
			for range 2 { // the second one is empty
				check.OK(t, p.Dump(t.Context()))
				check.Equal(t, "written", tt.want, read(t, w.Bytes()))
			}
			if tt.entries > 1000 && w.Writes() < 2 {
				t.Errorf("%d writes", w.Writes())
			}
			stop(t, p, out.Sink)
			checkStats(t, p.Stats(), tt.stats)
			p.OnEnd(ended(spantest.Operation(0).Snapshot())) // too late
			p.OnEnd(ended(spantest.Request().Snapshot()))
			tt.stats.Recorded++
			tt.stats.Dropped++
			tt.stats.Skipped++
			checkStats(t, p.Stats(), tt.stats)
			check.OK(t, p.Dump(t.Context())) // after Stop
		})
	}
}

func TestFlightTriggers(t *testing.T) {
	failed := spantest.Operation(1)
	failed.Status = sdktrace.Status{Code: codes.Error}
	failedRequest := spantest.Request()
	failedRequest.Status = sdktrace.Status{Code: codes.Error}
	asData := func(s sdktrace.ReadOnlySpan) span.Ended {
		d := span.ReadAll(s, s.SpanContext(), s.Parent())
		return span.Ended{Data: &d, Context: d.Context, Parent: d.Parent}
	}
	request := ended(spantest.Request().Snapshot()) // takes a second
	for _, tt := range []struct {
		name  string
		cfg   Config
		ended span.Ended
		want  bool
	}{
		{"failed operation", Config{OnError: true}, ended(failed.Snapshot()), true},
		{"failed operation of a Recorder", Config{OnError: true}, asData(failed.Snapshot()), true},
		{"failed operation, no trigger", Config{}, ended(failed.Snapshot()), false},
		{"operation without an error", Config{OnError: true}, ended(spantest.Operation(1).Snapshot()), false},
		{"failed request", Config{OnError: true}, ended(failedRequest.Snapshot()), false},
		{"slow root", Config{OnSlow: time.Second}, request, true},
		{"fast root", Config{OnSlow: time.Second + 1}, request, false},
		{"slow operation below a root", Config{OnSlow: time.Nanosecond}, ended(spantest.Operation(1).Snapshot()),
			false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w spantest.Buffer
				out := newOutput(t, &w)
				tt.cfg.Entries = 4
				p := newFlight(out, tt.cfg)
				p.OnEnd(ended(spantest.Operation(0).Snapshot()))
				p.OnEnd(tt.ended)
				synctest.Wait()
				check.Equal(t, "a dump is written", tt.want, w.Writes() > 0)
				stop(t, p, out.Sink)
				st := p.Stats()
				check.Equal(t, "operations that are written or dropped", st.Recorded, st.Written+st.Dropped)
			})
		})
	}
}

func TestFlightStuckWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := spantest.NewStuckWriter()
		out := newOutput(t, w)
		p := newFlight(out, Config{Entries: 4})
		p.OnEnd(ended(spantest.Operation(0).Snapshot()))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		check.Is(t, "Dump", context.DeadlineExceeded, p.Dump(ctx))
		// The sink is busy with the first dump: the operations of the second are lost.
		p.OnEnd(ended(spantest.Operation(1).Snapshot()))
		ctx, cancel = context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		check.Is(t, "Dump while the sink is busy", context.DeadlineExceeded, p.Dump(ctx))
		synctest.Wait()
		w.Release()
		synctest.Wait()
		stop(t, p, out.Sink)
		want := written{Steps: ints(0, 0), Gaps: map[string]int64{"timeout": 1}}
		check.Equal(t, "written", want, read(t, w.Bytes()))
		checkStats(t, p.Stats(), Stats{Recorded: 2, Written: 1, Dropped: 1})
	})
}

// A history returns its records in order, and takes at most the memory of its records and a part.
func TestHistory(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const partSize = 4 << 10
	h := history{partSize: partSize}
	type record struct {
		sequence uint64
		text     string
	}
	var want []record
	b := encoding.NewBatch(0)
	for i := range uint64(100_000) {
		if rng.IntN(1000) == 0 {
			want = nil
			taken := h.take()
			if taken.records > 0 && taken.oldest() == 0 {
				t.Fatalf("step %d: a record without a number", i)
			}
		}
		if grows := i/5000%2 == 0; len(want) == 0 || rng.IntN(5) < 2 || grows && rng.IntN(5) > 0 {
			n := 1 + rng.IntN(600)
			if rng.IntN(200) == 0 {
				n = 3 * partSize
			}
			b.Reset()
			b.Records = append(b.Records, slices.Repeat([]byte{byte(i)}, n)...)
			b.Entries = int(i)
			need := h.need(b.Body())
			before := h.bytes
			h.put(i+1, b)
			if grown := h.bytes - before; grown > need+100 {
				t.Fatalf("step %d: a record takes %d bytes, want %d at most", i, grown, need)
			}
			want = append(want, record{i + 1, string(b.Body())})
		} else {
			sequence := h.oldest()
			if r := h.pop(); sequence != want[0].sequence || string(r.Bytes) != want[0].text ||
				r.Entries != int(sequence)-1 {
				t.Fatalf("step %d: record %d of %d bytes with %d entries, want %d of %d bytes",
					i, sequence, len(r.Bytes), r.Entries, want[0].sequence, len(want[0].text))
			}
			want = want[1:]
		}
		if h.records != len(want) || len(want) == 0 && h.bytes != 0 {
			t.Fatalf("step %d: %d records in %d bytes, want %d", i, h.records, h.bytes, len(want))
		}
	}
	text := 0
	for _, r := range want {
		text += len(r.text)
	}
	if h.bytes > 2*text+8*partSize {
		t.Errorf("%d bytes are taken for %d bytes of text", h.bytes, text)
	}
}

// A full history does not allocate.
func TestHistoryAllocations(t *testing.T) {
	h := history{partSize: 4 << 10}
	b := encoding.NewBatch(0)
	b.Records = append(b.Records, make([]byte, 300)...)
	put := func() {
		if h.records == 50 {
			h.pop()
		}
		h.put(1, b)
	}
	for range 1000 {
		put()
	}
	if n := testing.AllocsPerRun(1000, put); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestPolicyString(t *testing.T) {
	for policy, want := range map[Policy]string{
		DropNewest: "drop-newest", DropOldest: "drop-oldest", Block: "block", 9: "Policy(9)",
	} {
		check.Equal(t, fmt.Sprintf("%d is called", uint8(policy)), want, policy.String())
	}
}
