package pipeline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

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
