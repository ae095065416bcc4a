package optrace_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// BenchmarkPeers compares the write side with what it stands beside. Each round
// runs the peer and ours by turns in one process; the metric x is the median
// over the rounds of the peer's cost over ours, in CPU time of the process, so
// that a collector working beside counts. Run it with rounds enough for a
// median:
//
//	go test -run '^$' -bench Peers -benchtime 15x .
//
// The spans of the export comparisons come in kinds: see spanSets.
func BenchmarkPeers(b *testing.B) {
	b.Run("record", benchmarkRecordPeers)
	b.Run("export", benchmarkExportPeers)
	b.Run("process", benchmarkProcessPeers)
}

// recordedOps is how many operations a round of the record comparisons has.
const recordedOps = 20_000

func benchmarkRecordPeers(b *testing.B) {
	tp := noopProvider(b)
	tracer, attrs := tp.Tracer("by hand"), spantest.Operation(0).Attributes[:5]
	tr := optrace.NewTracer(tp)
	prepared := prepare(b, tr, matmulSpec())
	sdk := func() {
		for range recordedOps {
			sdkSpan(tracer, attrs)
		}
	}
	b.Run("start_end", func(b *testing.B) {
		compare(b, recordedOps, sdk, func() {
			for range recordedOps {
				preparedOp(prepared)
			}
		})
	})
	b.Run("start_end_dynamic", func(b *testing.B) {
		compare(b, recordedOps, sdk, func() {
			for i := range int64(recordedOps) {
				dynamicOp(tr, i%64)
			}
		})
	})
	b.Run("record_after", func(b *testing.B) {
		at, ctx, own := time.Now().UnixNano(), context.Background(), slices.Clone(append(attrs[:5:5], attribute.KeyValue{}))
		compare(b, recordedOps, func() {
			for range recordedOps {
				at += 10_000
				own[len(own)-1] = tensorconv.LaunchTime(at - 50_000)
				_, span := tracer.Start(ctx, "matmul", trace.WithTimestamp(time.Unix(0, at)))
				span.SetAttributes(own...)
				span.End(trace.WithTimestamp(time.Unix(0, at+9_000)))
			}
		}, func() {
			for range recordedOps {
				at += 10_000
				prepared.Record(ctx, optrace.Times{Start: at, End: at + 9_000, Launch: at - 50_000})
			}
		})
	})

	discard := func(r *optrace.Recorder) { r.Discard() }
	proc := newProcessor(b, newExporter(b, io.Discard), optrace.WithPolicy(optrace.PolicyBlock))
	b.Cleanup(func() { _ = proc.Shutdown(context.Background()) })
	request := trace.ContextWithSpanContext(context.Background(), spantest.SpanContext(0, 1<<20))
	dynamic := func(r *optrace.Recorder) {
		r.Begin("matmul", "cuda:0").In(64, 784).In(784, 256).Out(64, 256).DType(op.F32).End()
	}
	for _, bm := range []struct {
		name   string
		record func(*optrace.Recorder)
		finish func(*optrace.Recorder)
	}{
		{"recorder", dynamic, discard},
		{"recorder prepared", func(r *optrace.Recorder) { r.BeginPrepared(prepared); r.End() }, discard},
		{"recorder back to back", func(r *optrace.Recorder) { r.BeginPrepared(prepared) }, discard},
		{"recorder_total", dynamic, (*optrace.Recorder).Finish},
		{"recorder_total prepared", func(r *optrace.Recorder) { r.BeginPrepared(prepared); r.End() }, (*optrace.Recorder).Finish},
	} {
		b.Run(bm.name, func(b *testing.B) {
			rec := proc.Recorder(request)
			compare(b, recordedOps, sdk, func() {
				const perFinish = 500
				for range recordedOps / perFinish {
					for range perFinish {
						bm.record(rec)
					}
					bm.finish(rec)
				}
			})
		})
	}
}

// node is an operation of a graph: the product of an a×b and a b×c matrix.
type node struct {
	name    string
	a, b, c int64
	index   int // in the graph
}

// spec returns the operation on a device.
func (n node) spec(device string) optrace.OpSpec {
	return optrace.OpSpec{
		Name: n.name, Device: device, DType: op.F16,
		Inputs: []op.Shape{{n.a, n.b}, {n.b, n.c}}, Output: op.Shape{n.a, n.c},
	}
}

// spanSet is a kind of spans that exporters are compared with.
type spanSet struct {
	name string
	open func() [][]sdktrace.ReadOnlySpan // returns batches of them
	// always tells that there are other spans before every look at the clock.
	always bool
}

// spanSets returns snapshots of the SDK of operations with a device, an element
// type, two inputs and an output.
//
//   - repeated: 40 shapes of one operation, with attribute values of their own
//   - graph: 2,000 operations in the order of a graph, again and again, on 8
//     devices that run at their own pace
//   - step: the graph below a context with a step, which changes with each
//     iteration; spans that no exporter has seen, one batch at a time, which
//     does not start a collection
//   - prep8: the graph, prepared for each of the 8 devices
//   - by hand: the graph again, but with attributes that are made again for every
//     span, so that only their content is the same; one batch at a time, which
//     does not start a collection
//   - random: name, device and shapes drawn for each, 65,536 operations of which
//     no two are alike
func spanSets(tb testing.TB) []spanSet {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(most int64) node {
		dim := func() int64 { return 8 * (1 + random.Int64N(most/8)) }
		return node{name: fmt.Sprintf("aten::op_%d", random.IntN(40)), a: dim(), b: dim(), c: dim()}
	}
	devices := make([]string, 8)
	for i := range devices {
		devices[i] = fmt.Sprintf("cuda:%d", i)
	}
	graph, position := make([]node, 2000), make([]int, len(devices))
	for i := range graph {
		graph[i] = draw(128)
		graph[i].index = i
	}
	inOrder := func() (node, string) {
		d := random.IntN(len(devices))
		position[d]++
		return graph[position[d]%len(graph)], devices[d]
	}
	atRandom := func() (node, string) { return draw(1 << 14), devices[random.IntN(len(devices))] }
	p := newProgram(tb)
	prepared := make(map[string][]*optrace.Prepared)
	for _, device := range devices {
		for _, n := range graph {
			prepared[device] = append(prepared[device], prepare(tb, p.ops, n.spec(device)))
		}
	}
	iterations := 0
	return []spanSet{
		{name: "repeated", open: func() [][]sdktrace.ReadOnlySpan { return [][]sdktrace.ReadOnlySpan{batchOf512(tb)} }},
		{name: "graph", open: func() [][]sdktrace.ReadOnlySpan { return p.batches(16, p.recordOp, inOrder) }},
		{name: "step", always: true, open: func() [][]sdktrace.ReadOnlySpan {
			return p.batches(1, func(o node, device string) {
				iterations++
				p.recordAt(optrace.ContextWithStep(p.ctx, int64(iterations/len(graph)/len(devices))), o, device)
			}, inOrder)
		}},
		{name: "prep8", open: func() [][]sdktrace.ReadOnlySpan {
			return p.batches(32, func(o node, device string) {
				_, span := prepared[device][o.index].Start(p.ctx)
				span.End()
			}, inOrder)
		}},
		{name: "by hand", always: true, open: func() [][]sdktrace.ReadOnlySpan { return p.batches(1, p.recordByHand, inOrder) }},
		{name: "random", open: func() [][]sdktrace.ReadOnlySpan { return p.batches(128, p.recordOp, atRandom) }},
	}
}

// program records operations below a request and keeps their spans.
type program struct {
	kept   spantest.Exporter
	ctx    context.Context // of the request
	ops    *optrace.Tracer
	byHand trace.Tracer
}

func newProgram(tb testing.TB) *program {
	tb.Helper()
	p := new(program)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(&p.kept), sdktrace.WithResource(spantest.Service("trainer")))
	p.ops, p.byHand = optrace.NewTracer(tp), tp.Tracer("by hand")
	p.ctx, _ = p.byHand.Start(tb.Context(), "request")
	return p
}

func (p *program) recordOp(o node, device string) { p.recordAt(p.ctx, o, device) }

func (p *program) recordAt(ctx context.Context, o node, device string) {
	_, span := p.ops.Start(ctx, o.name, device)
	span.In(o.a, o.b).In(o.b, o.c).Out(o.a, o.c).DType(op.F16).End()
}

func (p *program) recordByHand(o node, device string) {
	_, span := p.byHand.Start(p.ctx, o.name)
	span.SetAttributes(tensorconv.OpName(o.name), tensorconv.DeviceID(device), tensorconv.DType(op.F16),
		tensorconv.InputShapes([]int64{o.a, o.b}, []int64{o.b, o.c}), tensorconv.OutputShape(o.a, o.c))
	span.End()
}

// batches returns batches of what the SDK makes of operations.
func (p *program) batches(n int, record func(node, string), next func() (o node, device string)) [][]sdktrace.ReadOnlySpan {
	p.kept.Reset()
	for range n * exportBatch {
		record(next())
	}
	return slices.Collect(slices.Chunk(p.kept.Spans(), exportBatch))
}

func benchmarkExportPeers(b *testing.B) {
	stdout, err := stdouttrace.New(stdouttrace.WithWriter(io.Discard))
	if err != nil {
		b.Fatal(err)
	}
	otlp := otlptrace.NewUnstarted(new(marshallingClient))
	for _, set := range spanSets(b) {
		for _, bm := range []struct {
			name   string
			peer   sdktrace.SpanExporter
			format optrace.Format
		}{
			{"entries_vs_stdouttrace", stdout, optrace.FormatEntries},
			{"entries_vs_otlp", otlp, optrace.FormatEntries},
			{"otlp_vs_otlp", otlp, optrace.FormatOTLPProto},
		} {
			b.Run(set.name+"/"+bm.name, func(b *testing.B) {
				batches := set.open()
				perCall := min(len(batches), 8) // between two looks at the clock
				exporting := func(exp sdktrace.SpanExporter) func() {
					next := 0
					return func() {
						for range perCall {
							if err := exp.ExportSpans(context.Background(), batches[next%len(batches)]); err != nil {
								b.Fatal(err)
							}
							next++
						}
					}
				}
				var fresh func()
				if set.always {
					fresh = func() { batches = set.open() }
				}
				ours := exporting(newExporter(b, io.Discard, optrace.WithFormat(bm.format)))
				for range max(50, 4*len(batches)/perCall) {
					if fresh != nil {
						fresh()
					}
					ours() // what is remembered is remembered
				}
				compareFresh(b, perCall*exportBatch, exporting(bm.peer), ours, fresh)
			})
		}
	}
}

// benchmarkProcessPeers has two goroutines record as fast as they can.
func benchmarkProcessPeers(b *testing.B) {
	const producers, each = 2, 20_000
	run := func(b *testing.B, newProc func() sdktrace.SpanProcessor) func() {
		return func() {
			tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(newProc()), sdktrace.WithResource(spantest.Service("trainer")))
			p := prepare(b, optrace.NewTracer(tp), matmulSpec())
			var wg sync.WaitGroup
			for range producers {
				wg.Go(func() {
					for range each {
						preparedOp(p)
					}
				})
			}
			wg.Wait()
			if err := tp.Shutdown(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	}
	ours := run(b, func() sdktrace.SpanProcessor {
		return newProcessor(b, newExporter(b, io.Discard), optrace.WithPolicy(optrace.PolicyBlock))
	})
	for _, bm := range []struct {
		name string
		peer func() sdktrace.SpanExporter
	}{
		{"processor_vs_batch_otlp", func() sdktrace.SpanExporter { return otlptrace.NewUnstarted(new(marshallingClient)) }},
		{"processor_vs_batch_discard", func() sdktrace.SpanExporter { return spantest.Discard{} }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			compare(b, producers*each, run(b, func() sdktrace.SpanProcessor {
				return sdktrace.NewBatchSpanProcessor(bm.peer(), sdktrace.WithBlocking())
			}), ours)
		})
	}
}

// compare runs peer and ours, each of which does n of something, by turns. It
// reports the median over the rounds of the ratio of their CPU times as x, and
// the medians of what one of each costs.
func compare(b *testing.B, n int, peer, ours func()) {
	b.Helper()
	compareFresh(b, n, peer, ours, nil)
}

// compareFresh is compare with something to be done before each run, which does
// not count.
func compareFresh(b *testing.B, n int, peer, ours, fresh func()) {
	b.Helper()
	cost := func(f func()) float64 {
		if fresh != nil {
			fresh()
		} else {
			runtime.GC() // what was left to collect before does not count
		}
		return float64(cpuOf(f)) / float64(n)
	}
	peer() // caches and buffers grow
	ours()
	// As many of ours as take the time of one of the peer's: the clock of CPU
	// time is coarse.
	times := min(64, max(1, int(cost(peer)/max(1, cost(ours)))))
	if fresh != nil {
		times = 1
	}
	var ratios, theirNS, ourNS []float64
	for b.Loop() {
		their := cost(peer)
		our := cost(func() {
			for range times {
				ours()
			}
		}) / float64(times)
		ratios, theirNS, ourNS = append(ratios, their/our), append(theirNS, their), append(ourNS, our)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ratios), "x")
	b.ReportMetric(median(theirNS), "peer-ns")
	b.ReportMetric(median(ourNS), "our-ns")
	b.ReportMetric(testing.AllocsPerRun(1, ours)/float64(n), "our-allocs")
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
