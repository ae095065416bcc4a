package prune_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/record/prune"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const threshold = time.Millisecond

// root returns the root above an operation of package spantest.
func root() (tracetest.SpanStub, span.Root) {
	s := spantest.Request()
	return s, span.Root{Name: s.Name, ID: op.SpanID(s.SpanContext.SpanID())}
}

// operation returns the i-th operation, of duration d.
func operation(i int, name, device string, d time.Duration) tracetest.SpanStub {
	s := spantest.Operation(i)
	s.Name = name
	s.EndTime = s.StartTime.Add(d)
	s.Attributes = []attribute.KeyValue{tensorconv.OpName(name)}
	if device != "" {
		s.Attributes = append(s.Attributes, tensorconv.DeviceID(device))
	}
	return s
}

// same reports whether got is s, without a summary.
func same(got, s sdktrace.ReadOnlySpan) bool {
	return got != nil && got.SpanContext().Equal(s.SpanContext()) && got.Name() == s.Name() &&
		len(got.Events()) == len(s.Events())
}

// summary is an event of pruned operations.
type summary struct {
	Operation, Device string
	Count             int64
	Duration          time.Duration
}

// summaries returns the summaries of s, and the names of its other events.
func summaries(s sdktrace.ReadOnlySpan) (sums []summary, others []string) {
	for _, e := range s.Events() {
		if e.Name != attrkey.PrunedEvent {
			others = append(others, e.Name)
			continue
		}
		var sum summary
		for _, kv := range e.Attributes {
			switch string(kv.Key) {
			case attrkey.Name:
				sum.Operation = kv.Value.AsString()
			case attrkey.PrunedCount:
				sum.Count = kv.Value.AsInt64()
			case attrkey.PrunedDuration:
				sum.Duration = time.Duration(kv.Value.AsInt64())
			default: // the device
				sum.Device = kv.Value.AsString()
			}
		}
		sums = append(sums, sum)
	}
	return sums, others
}

func TestEnded(t *testing.T) {
	request, above := root()
	id := func(first, second byte) func(*tracetest.SpanStub) { // the span id decides about the share
		return func(s *tracetest.SpanStub) {
			s.SpanContext = s.SpanContext.WithSpanID(trace.SpanID{first, second, 7: 1})
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*tracetest.SpanStub)
		root   span.Root
		ratio  float64
		pruned bool
	}{
		{"short", func(*tracetest.SpanStub) {}, above, 0, true},
		{"at the threshold", func(s *tracetest.SpanStub) { s.EndTime = s.StartTime.Add(threshold) }, above, 0, false},
		{"just below the threshold", func(s *tracetest.SpanStub) { s.EndTime = s.StartTime.Add(threshold - 1) }, above,
			0, true},
		{"failed", func(s *tracetest.SpanStub) { s.Status.Code = codes.Error }, above, 0, false},
		{"parent", func(s *tracetest.SpanStub) { s.ChildSpanCount = 1 }, above, 0, false},
		{"no operation", func(s *tracetest.SpanStub) { s.Attributes = nil }, above, 0, false},
		{"root not known", func(*tracetest.SpanStub) {}, span.Root{}, 0, false},
		{"root not started", func(*tracetest.SpanStub) {}, span.Root{Name: "other", ID: op.SpanID{9}}, 0, false},
		{"of another trace", func(s *tracetest.SpanStub) { s.SpanContext = spantest.SpanContext(1, 0) }, above, 0,
			false},
		{"local root", func(s *tracetest.SpanStub) { s.Parent = trace.SpanContext{} }, span.Root{}, 0, false},
		{"below a remote parent", func(s *tracetest.SpanStub) { s.Parent = s.Parent.WithRemote(true) }, span.Root{}, 0,
			false},
		{"share of none", id(0, 0), above, 0, true}, {"first of a share", id(0, 0), above, 0.25, false},
		{"last of a share", id(0x3f, 0xff), above, 0.25, false}, {"beyond a share", id(0x40, 0), above, 0.25, true},
		{"far beyond a share", id(0xff, 0xff), above, 0.25, true}, {"share of all", id(0xff, 0xff), above, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := prune.New(threshold, tt.ratio)
			p.Started(request.Snapshot())
			stub := operation(0, "relu", "cuda:0", time.Microsecond)
			tt.change(&stub)
			s := stub.Snapshot()
			p.Started(s)
			switch got := p.Ended(s, tt.root); {
			case tt.pruned && got != nil:
				t.Error("forwarded")
			case !tt.pruned && !same(got, s):
				t.Errorf("the span that is forwarded is %v", got)
			}
			var want []summary
			if tt.pruned {
				want = []summary{{"relu", "cuda:0", 1, stub.EndTime.Sub(stub.StartTime)}}
			}
			sums, _ := summaries(p.Ended(request.Snapshot(), span.Root{}))
			check.Equal(t, "summary", want, sums)
		})
	}
}

func TestSummary(t *testing.T) {
	p := prune.New(threshold, 0)
	request, above := root()
	request.Events = []sdktrace.Event{{Name: "received"}}
	p.Started(request.Snapshot())
	for i, o := range []struct {
		name, device string
		micros       int
	}{{"relu", "cuda:1", 5}, {"relu", "cuda:0", 10}, {"add", "", 1}, {"relu", "cuda:0", 20}, {"relu", "cuda:0", 30}} {
		s := operation(i, o.name, o.device, time.Duration(o.micros)*time.Microsecond)
		if got := p.Ended(s.Snapshot(), above); got != nil {
			t.Errorf("operation %d is forwarded", i)
		}
	}
	s := request.Snapshot()
	got := p.Ended(s, span.Root{})
	sums, others := summaries(got)
	want := []summary{
		{"add", "", 1, time.Microsecond}, {"relu", "cuda:0", 3, 60 * time.Microsecond},
		{"relu", "cuda:1", 1, 5 * time.Microsecond},
	}
	check.Equal(t, "summary", want, sums)
	check.Equal(t, "events of the root", []string{"received"}, others)
	if got.Name() != s.Name() || !got.SpanContext().Equal(s.SpanContext()) || len(s.Events()) != 1 {
		t.Errorf("the root is %s %v, and the span that ended has %d events", got.Name(), got.SpanContext(),
			len(s.Events()))
	}
	for _, e := range got.Events()[1:] {
		if !e.Time.Equal(s.EndTime()) {
			t.Errorf("an event is at %v, want the end of the root, %v", e.Time, s.EndTime())
		}
	}
	late := operation(9, "late", "", time.Microsecond).Snapshot()
	if !same(p.Ended(late, above), late) {
		t.Error("an operation that ends after its root is not forwarded")
	}
}

// The events on one root are bounded; no operation is left out of the counts.
func TestSummaryManyOperations(t *testing.T) {
	p := prune.New(threshold, 0)
	request, above := root()
	p.Started(request.Snapshot())
	const n, named = 300, 128
	for i := range n {
		if p.Ended(operation(i, fmt.Sprintf("op%03d", i), "", time.Microsecond).Snapshot(), above) != nil {
			t.Errorf("operation %d is forwarded", i)
		}
	}
	sums, _ := summaries(p.Ended(request.Snapshot(), span.Root{}))
	want := []summary{{attrkey.PrunedOthers, "", n - named, (n - named) * time.Microsecond}}
	for i := range named {
		want = append(want, summary{fmt.Sprintf("op%03d", i), "", 1, time.Microsecond})
	}
	check.Equal(t, "summary", want, sums)
}

func TestForget(t *testing.T) {
	p := prune.New(threshold, 0)
	request, above := root()
	p.Started(request.Snapshot())
	first := operation(0, "relu", "", 1).Snapshot()
	second := operation(1, "relu", "", 1).Snapshot()
	if p.Ended(first, above) != nil {
		t.Error("the operation is forwarded")
	}
	p.Forget(second) // no root to forget
	if p.Ended(second, above) != nil {
		t.Error("Forget of an operation forgets its root")
	}
	p.Forget(request.Snapshot())
	if !same(p.Ended(first, above), first) {
		t.Error("an operation is pruned below a root that is forgotten")
	}
	if s := request.Snapshot(); !same(p.Ended(s, span.Root{}), s) {
		t.Error("a root that is forgotten has a summary")
	}
}

// Sums below roots that never end take the memory of the bound, and the operations of evicted sums are counted. New
// roots have their summaries. See docs/reliability.md.
func TestLeakedSumsStayBounded(t *testing.T) {
	cases.Rare(t)
	cases.NotUnderRace(t, cases.OneGoroutine)
	const bound = 32 << 20
	for _, tt := range []struct {
		name              string
		roots, ops, width int // operations below each root, with names of this length
	}{
		{"many", 300_000, 0, 0}, {"with operations", 4000, 130, 10},
		{"with operations of long names", 1500, 20, 10 << 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := check.Heap()
			p := prune.New(time.Hour, 0)
			begin := func(n, ops int) sdktrace.ReadOnlySpan {
				request, above := root()
				request.SpanContext = spantest.SpanContext(n, 1<<20)
				p.Started(request.Snapshot())
				for i := range ops {
					s := operation(i, fmt.Sprintf("%0*d", tt.width, n*ops+i), "", 1)
					s.SpanContext = spantest.SpanContext(n, i)
					if p.Ended(s.Snapshot(), above) != nil {
						t.Fatal("an operation is forwarded")
					}
				}
				return request.Snapshot()
			}
			for n := range tt.roots {
				begin(n, tt.ops)
			}
			if held := check.Heap() - before; held > bound+1<<20 || tt.ops > 0 != (p.Forgotten() > 0) {
				t.Errorf("%.1f MiB are held, and %d operations forgotten", float64(held)/(1<<20), p.Forgotten())
			}
			for n := range 1000 {
				if sums, _ := summaries(p.Ended(begin(tt.roots+n, 1), span.Root{})); len(sums) != 1 {
					t.Fatalf("%d sums on a new root", len(sums))
				}
			}
		})
	}
}

func TestPrunerConcurrentSafe(t *testing.T) {
	p := prune.New(threshold, 0)
	request, above := root()
	p.Started(request.Snapshot())
	const goroutines, each = 4, 200
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := range each {
				if p.Ended(operation(i, "relu", "cuda:0", time.Microsecond).Snapshot(), above) != nil {
					t.Error("an operation is forwarded")
				}
			}
		})
	}
	wg.Wait()
	sums, _ := summaries(p.Ended(request.Snapshot(), span.Root{}))
	want := []summary{{"relu", "cuda:0", goroutines * each, goroutines * each * time.Microsecond}}
	check.Equal(t, "summary", want, sums)
}

// Forwarded and pruned operations count.
func TestAnEventNamesTheKindsOfOperations(t *testing.T) {
	p := prune.New(threshold, 0)
	request, above := root()
	p.Started(request.Snapshot())
	whole := request.EndTime.Sub(request.StartTime)
	for i, d := range []time.Duration{whole / 2, whole / 5} {
		s := operation(i, "matmul", "cuda:0", d)
		p.Ended(s.Snapshot(), above)
	}
	events := p.Ended(request.Snapshot(), span.Root{}).Events()
	check.Equal(t, "words", "optrace: compute 70 %", events[0].Name)
}
