package live

import (
	"context"
	"fmt"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/tensorconv"
)

// pushing returns a Processor that folds when the test says so, and by itself where it may.
func pushing(t *testing.T, itself bool) (*Processor, trace.Tracer) {
	t.Helper()
	p := check.Must(NewProcessor(WithProfilePush("http://127.0.0.1:1", time.Hour)))(t)
	if !itself {
		p.push.wake = make(chan struct{}, 1)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.Shutdown(ctx) // nobody takes the profile
	})
	return p, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p)).Tracer("test")
}

func startOp(ctx context.Context, tr trace.Tracer, name string, at time.Time) (context.Context, trace.Span) {
	return tr.Start(ctx, name, trace.WithTimestamp(at), trace.WithAttributes(tensorconv.OpName(name)))
}

// An operation waits for those above it that still run, and its time is not theirs.
func TestBelowWhatStillRuns(t *testing.T) {
	p, tr := pushing(t, false)
	start := time.Unix(1_700_000_000, 0)
	ctx, request := tr.Start(t.Context(), "request")
	outer, a := startOp(ctx, tr, "outer", start)
	middle, b := startOp(outer, tr, "middle", start.Add(10))
	_, c := startOp(middle, tr, "inner", start.Add(20))
	_, d := startOp(ctx, tr, "beside", start)
	ended := int64(0)
	for _, step := range []struct {
		span trace.Span
		at   time.Duration
		want int64 // operations in the profile
	}{{c, 50, 0}, {d, 5, 1}, {b, 60, 1}, {a, 100, 4}} {
		step.span.End(trace.WithTimestamp(start.Add(step.at)))
		ended++
		p.push.fold(false)
		if got := p.push.interval.Stacks.Operations(); got != step.want || int64(len(p.push.held)) != ended-step.want {
			t.Errorf("after %d: %d in the profile, %d wait", ended, got, len(p.push.held))
		}
	}
	for _, row := range p.push.interval.Stacks.Rows() {
		want := map[string]int64{
			"[request outer]": 50, "[request outer middle]": 20, "[request outer middle inner]": 30, "[request beside]": 5,
		}[fmt.Sprint(row.Frames)]
		if row.SelfNS != want || row.TimeNS != want || row.Request.Name != "request" || row.Request.SpanID.IsZero() {
			t.Errorf("%v: self %d, time %d, want %d; %+v", row.Frames, row.SelfNS, row.TimeNS, want, row.Request)
		}
	}
	request.End()
}

// At the end nothing waits.
func TestLastFold(t *testing.T) {
	p, tr := pushing(t, false)
	ctx, a := startOp(t.Context(), tr, "outer", time.Now())
	_, b := startOp(ctx, tr, "inner", time.Now())
	b.End()
	p.push.fold(false)
	profile, err := p.push.take(true)
	if err != nil || profile.Operations != 1 || len(p.push.held) != 0 {
		t.Errorf("%d operations, %d wait, error %v", profile.Operations, len(p.push.held), err)
	}
	a.End()
}

// What there is no room for is counted, and nothing waits for it.
func TestMissed(t *testing.T) {
	p, tr := pushing(t, false)
	ctx, a := startOp(t.Context(), tr, "outer", time.Now())
	_, b := startOp(ctx, tr, "inner", time.Now())
	b.End()
	p.push.fold(false)
	for range maxPending + 9 {
		_, o := startOp(t.Context(), tr, "other", time.Now())
		o.End()
	}
	a.End()
	check.Equal(t, "missed", 10, p.PushStats().Missed)
	profile, err := p.push.take(false)
	if err != nil || profile.Operations != 1+maxPending || p.push.told != 10 || len(p.push.held) != 0 {
		t.Errorf("%d operations, %d wait, error %v", profile.Operations, len(p.push.held), err)
	}
	_, o := startOp(t.Context(), tr, "other", time.Now())
	o.End()
	if profile, err := p.push.take(false); err != nil || profile.Operations != 1 {
		t.Errorf("%d operations, error %v", profile.Operations, err)
	}
}

// Many operations are folded before the interval is over.
func TestFoldsBetweenIntervals(t *testing.T) {
	p, tr := pushing(t, true)
	for range maxPending {
		_, o := startOp(t.Context(), tr, "op", time.Time{})
		o.End()
	}
	waiting := func() int {
		p.push.mu.Lock()
		defer p.push.mu.Unlock()
		return len(p.push.pending)
	}
	for deadline := time.Now().Add(time.Minute); waiting() > maxPending/2 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if n := waiting(); n > maxPending/2 {
		t.Errorf("%d operations wait", n)
	}
}

// An operation that is recorded when what it lies below has ended has that above it
// nevertheless, until many others have ended.
func TestBelowWhatHasEnded(t *testing.T) {
	p, tr := pushing(t, false)
	ctx, request := tr.Start(t.Context(), "request")
	ctx, a := startOp(ctx, tr, "launch", time.Now())
	_, b := startOp(ctx, tr, "first", time.Now())
	b.End()
	a.End()
	request.End()
	p.push.fold(false)
	_, b = startOp(ctx, tr, "later", time.Now())
	b.End()
	p.push.fold(false)
	got := make(map[string]string)
	for _, row := range p.push.interval.Stacks.Rows() {
		got[fmt.Sprint(row.Frames)] = row.Request.Name
	}
	want := map[string]string{
		"[request launch]": "request", "[request launch first]": "request", "[request launch later]": "request",
	}
	check.Equal(t, "stacks and requests", want, got)
	for range 4 * maxEnded {
		other, above := tr.Start(t.Context(), "other")
		_, below := tr.Start(other, "below")
		below.End()
		above.End()
	}
	open := p.push.ancestry.open.Len()
	if open != maxEnded || p.PushStats().Forgotten != 0 {
		t.Errorf("%d spans are known, %+v", open, p.PushStats())
	}
}

// Spans that are never ended take bounded memory.
func TestForgottenSpans(t *testing.T) {
	p, tr := pushing(t, false)
	for range 2 * maxOpenBytes / openSpanBytes {
		tr.Start(t.Context(), "leaked")
	}
	open := p.push.ancestry.open.Len()
	stats := p.PushStats()
	bytes, all := open*openSpanBytes, int(stats.Forgotten)+open
	if bytes > maxOpenBytes || bytes < maxOpenBytes/2 || all != 2*maxOpenBytes/openSpanBytes {
		t.Errorf("%d spans are open, %d forgotten", open, stats.Forgotten)
	}
}
