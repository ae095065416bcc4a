package pipeline

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/record/observ"
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
