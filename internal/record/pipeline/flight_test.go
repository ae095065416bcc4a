package pipeline

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/encoding/entries"
	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

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
			name: "not full", entries: 3, ended: 2,
			want:  written{Steps: ints(0, 1), Spans: []string{request}},
			stats: Stats{Recorded: 2, Written: 2, Skipped: 1},
		},
		{
			name: "full", entries: 3, ended: 3,
			want:  written{Steps: ints(0, 2), Spans: []string{request}},
			stats: Stats{Recorded: 3, Written: 3, Skipped: 1},
		},
		{
			name: "overwritten", entries: 3, ended: 50,
			want: written{Steps: ints(47, 49), Spans: []string{request},
				Gaps: map[string]int64{"flight_recorder": 47}},
			stats: Stats{Recorded: 50, Written: 3, Dropped: 47, Skipped: 1},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var w spantest.Buffer
			out := newOutput(t, &w)
			p := newFlight(out, Config{Entries: tt.entries})
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
