package optrace_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/tensorconv"
)

var allFormats = []optrace.Format{optrace.FormatEntries, optrace.FormatOTLPJSON, optrace.FormatOTLPProto}

// checkMemo checks that an exporter that remembers spans writes for stubs, several
// times over, what one without a memory writes. It returns how many were found in
// the memory.
func checkMemo(tb testing.TB, f optrace.Format, stubs tracetest.SpanStubs, opts ...optrace.ExporterOption) (hits int) {
	tb.Helper()
	var with, without bytes.Buffer
	opts = append(slices.Clone(opts), optrace.WithFormat(f))
	memo, plain := newExporter(tb, &with, opts...), newExporter(tb, &without, opts...)
	optrace.SetCacheBytes(plain, 0)
	spans := stubs.Snapshots()
	for round := range 3 {
		for _, exp := range []*optrace.Exporter{memo, plain} {
			export(tb, exp, spans...)
		}
		got, want := withoutWriter(f, with.Bytes()), withoutWriter(f, without.Bytes())
		if !bytes.Equal(got, want) {
			tb.Fatalf("%v, round %d: with a memory other bytes are written (-without +with):\n%s",
				f, round, gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")))
		}
		with.Reset()
		without.Reset()
	}
	return optrace.CacheHits(memo)
}

// withoutWriter takes the name of the writer out of the batch record.
func withoutWriter(f optrace.Format, text []byte) []byte {
	if f == optrace.FormatEntries {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text
}

// Spans that differ from one that is remembered, in one thing each, in front of
// it and behind it.
func TestMemoTellsSpansApart(t *testing.T) {
	state := check.Must(trace.ParseTraceState("ot=th:8"))(t)
	set := func(key string, v attribute.Value) func(*tracetest.SpanStub) {
		return func(s *tracetest.SpanStub) {
			s.Attributes = slices.Clone(s.Attributes)
			for i := range s.Attributes {
				if string(s.Attributes[i].Key) == key {
					s.Attributes[i].Value = v
					return
				}
			}
			s.Attributes = append(s.Attributes, attribute.KeyValue{Key: attribute.Key(key), Value: v})
		}
	}
	for name, change := range map[string]func(*tracetest.SpanStub){
		"nothing":                   func(*tracetest.SpanStub) {},
		"name of equal length":      set(attrkey.Name, attribute.StringValue("matmuX")),
		"name as a number":          set(attrkey.Name, attribute.Int64Value(5)),
		"device":                    set(attrkey.Device, attribute.StringValue("cuda:1")),
		"device empty":              set(attrkey.Device, attribute.StringValue("")),
		"device not UTF-8":          set(attrkey.Device, attribute.StringValue("cuda\xff0")),
		"device to escape":          set(attrkey.Device, attribute.StringValue("a\"\\\n\u2028b")),
		"device as a number":        set(attrkey.Device, attribute.Int64Value(1)),
		"device long":               set(attrkey.Device, attribute.StringValue(strings.Repeat("d", 300))),
		"device of another family":  set("device", attribute.StringValue("cpu")),
		"step":                      set(attrkey.Step, attribute.Int64Value(math.MinInt64)),
		"step as a text":            set(attrkey.Step, attribute.StringValue("7")),
		"step as a float":           set(attrkey.Step, attribute.Float64Value(7)),
		"step of another family":    set("step", attribute.Int64Value(9)),
		"shape":                     set(attrkey.OutputShape, attribute.Int64SliceValue([]int64{64, 255})),
		"shape, equal":              set(attrkey.OutputShape, attribute.Int64SliceValue([]int64{64, 256})),
		"shape as texts":            set(attrkey.OutputShape, attribute.StringSliceValue([]string{"64", "256"})),
		"shape as floats":           set(attrkey.OutputShape, attribute.Float64SliceValue([]float64{64, 256})),
		"shape with NaN":            set(attrkey.OutputShape, attribute.Float64SliceValue([]float64{64, math.NaN()})),
		"shape, long":               set(attrkey.OutputShape, attribute.Int64SliceValue(make([]int64, 400))),
		"zero":                      set("x", attribute.Float64Value(0)),
		"minus zero":                set("x", attribute.Float64Value(math.Copysign(0, -1))),
		"NaN":                       set("x", attribute.Float64Value(math.NaN())),
		"list that nobody wants":    set("x", attribute.Int64SliceValue([]int64{1, 2})),
		"text that nobody wants":    set("x", attribute.StringValue(strings.Repeat("x", 10_000))),
		"map":                       set("x", attribute.MapValue(attribute.Int("a", 1))),
		"rank":                      set(attrkey.Rank, attribute.Int64Value(3)),
		"launch":                    set(attrkey.Launch, attribute.Int64Value(1_700_000_000_000_000_000)),
		"launch again":              set(attrkey.Launch, attribute.Int64Value(1_700_000_000_000_000_005)),
		"launch, negative":          set(attrkey.Launch, attribute.Int64Value(-1)),
		"launch as a text":          set(attrkey.Launch, attribute.StringValue("1700000000000000000")),
		"launch by its old name":    set("optrace.launch_unix_ns", attribute.Int64Value(1_700_000_000_000_000_000)),
		"clock error":               set(attrkey.ClockError, attribute.Int64Value(2000)),
		"root in attributes":        set(attrkey.Root, attribute.StringValue("POST /")),
		"warnings in attributes":    set(attrkey.Warnings, attribute.StringValue("bad_time")),
		"collective":                set(attrkey.Collective, attribute.StringValue("all_reduce")),
		"text that looks like keys": set(attrkey.Path, attribute.StringValue(`,"duration_us":1,"trace_id":"`)),
		"one attribute less":        func(s *tracetest.SpanStub) { s.Attributes = s.Attributes[:4] },
		"order of attributes": func(s *tracetest.SpanStub) {
			s.Attributes = slices.Clone(s.Attributes)
			slices.Reverse(s.Attributes)
		},
		"two steps": func(s *tracetest.SpanStub) {
			s.Attributes = append(slices.Clone(s.Attributes), tensorconv.Step(77))
		},
		"two devices": func(s *tracetest.SpanStub) {
			s.Attributes = append(slices.Clone(s.Attributes), tensorconv.DeviceID("cpu"))
		},
		"no operation":      func(s *tracetest.SpanStub) { s.Attributes = []attribute.KeyValue{attribute.Int("x", 1)} },
		"no attributes":     func(s *tracetest.SpanStub) { s.Attributes = nil },
		"span's name":       func(s *tracetest.SpanStub) { s.Name = "other" },
		"trace id":          func(s *tracetest.SpanStub) { s.SpanContext = spantest.SpanContext(9, 9) },
		"zero ids":          func(s *tracetest.SpanStub) { s.SpanContext = trace.SpanContext{} },
		"zero span id":      func(s *tracetest.SpanStub) { s.SpanContext = s.SpanContext.WithSpanID(trace.SpanID{}) },
		"tracestate":        func(s *tracetest.SpanStub) { s.SpanContext = s.SpanContext.WithTraceState(state) },
		"flags":             func(s *tracetest.SpanStub) { s.SpanContext = s.SpanContext.WithTraceFlags(0) },
		"no parent":         func(s *tracetest.SpanStub) { s.Parent = trace.SpanContext{} },
		"remote parent":     func(s *tracetest.SpanStub) { s.Parent = s.Parent.WithRemote(true) },
		"own parent":        func(s *tracetest.SpanStub) { s.Parent = s.SpanContext },
		"error":             func(s *tracetest.SpanStub) { s.Status = sdktrace.Status{Code: codes.Error, Description: "oom"} },
		"error, no text":    func(s *tracetest.SpanStub) { s.Status.Code = codes.Error },
		"ok":                func(s *tracetest.SpanStub) { s.Status.Code = codes.Ok },
		"dropped":           func(s *tracetest.SpanStub) { s.DroppedAttributes = 2 },
		"dropped, negative": func(s *tracetest.SpanStub) { s.DroppedAttributes = -2 },
		"resource":          func(s *tracetest.SpanStub) { s.Resource = spantest.Service("other") },
		"rank of resource": func(s *tracetest.SpanStub) {
			s.Resource = resource.NewSchemaless(tensorconv.Rank(4))
		},
		"no resource": func(s *tracetest.SpanStub) { s.Resource = nil },
		"scope":       func(s *tracetest.SpanStub) { s.InstrumentationScope.Name = "other" },
		"kind":        func(s *tracetest.SpanStub) { s.SpanKind = trace.SpanKindClient },
		"event":       func(s *tracetest.SpanStub) { s.Events = []sdktrace.Event{{Name: "e"}} },
		"link":        func(s *tracetest.SpanStub) { s.Links = []sdktrace.Link{{SpanContext: s.SpanContext}} },
		"next second": func(s *tracetest.SpanStub) {
			s.StartTime, s.EndTime = s.StartTime.Add(time.Second), s.EndTime.Add(time.Second)
		},
		"no time":      func(s *tracetest.SpanStub) { s.StartTime, s.EndTime = time.Time{}, time.Time{} },
		"no end":       func(s *tracetest.SpanStub) { s.EndTime = time.Time{} },
		"1970":         func(s *tracetest.SpanStub) { s.StartTime = time.Unix(0, 5) },
		"before 1970":  func(s *tracetest.SpanStub) { s.StartTime = time.Unix(-5, 5) },
		"2300":         func(s *tracetest.SpanStub) { s.EndTime = time.Unix(10_413_792_000, 0) },
		"ends first":   func(s *tracetest.SpanStub) { s.EndTime = s.StartTime.Add(-1) },
		"no duration":  func(s *tracetest.SpanStub) { s.EndTime = s.StartTime },
		"nanoseconds":  func(s *tracetest.SpanStub) { s.EndTime = s.StartTime.Add(1_234_567) },
		"milliseconds": func(s *tracetest.SpanStub) { s.EndTime = s.StartTime.Add(120 * time.Millisecond) },
		"hours":        func(s *tracetest.SpanStub) { s.EndTime = s.StartTime.Add(7 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			same, other := spantest.Operation(0), spantest.Operation(1)
			other.Attributes = slices.Clone(same.Attributes)
			change(&other)
			third := other
			third.SpanContext = other.SpanContext.WithSpanID(spantest.SpanID(77))
			third.Attributes = slices.Clone(other.Attributes)
			for _, f := range allFormats {
				if checkMemo(t, f, tracetest.SpanStubs{same, other, same, third, other}) == 0 {
					t.Errorf("%v: nothing was found in the memory", f)
				}
			}
		})
	}
}

// A mapping may make anything of the iteration and the device.
func TestMemoWithMapping(t *testing.T) {
	var m attr.Mapping
	m.Keep(attrkey.Step)
	m.Keep(attrkey.Device)
	m.Alias(attrkey.Device, attrkey.Path)
	var stubs tracetest.SpanStubs
	for i := range 20 {
		s := spantest.Operation(i % 4)
		s.Attributes = slices.Clone(spantest.Operation(0).Attributes)
		s.Attributes[1] = tensorconv.DeviceID(fmt.Sprint("cuda:", i%2))
		s.Attributes[5] = tensorconv.Step(int64(i % 3))
		stubs = append(stubs, s)
	}
	for _, f := range allFormats {
		checkMemo(t, f, stubs, optrace.WithMapping(&m))
	}
}

// FuzzMemo makes operations of its input that share attributes or differ in one.
func FuzzMemo(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{1, 2, 3, 5, 8, 13, 21}, 40))
	f.Add(bytes.Repeat([]byte{0, 255, 7}, 200))
	f.Fuzz(func(t *testing.T, input []byte) {
		const maxSpans = 24
		r := &spantest.Random{Data: input}
		first := spantest.Operation(0)
		if r.Below(2) == 1 {
			first = r.Operation()
		}
		stubs := tracetest.SpanStubs{first}
		for len(r.Data) > 0 && len(stubs) < maxSpans {
			s := stubs[r.Below(len(stubs))]
			s.SpanContext = s.SpanContext.WithSpanID(spantest.SpanID(len(stubs)))
			switch r.Below(4) {
			case 0: // only the id is another one
			case 1:
				s.Attributes = slices.Clone(s.Attributes)
				if i := r.Below(max(1, len(s.Attributes))); i < len(s.Attributes) {
					s.Attributes[i].Value = r.Value(2)
				}
			case 2:
				s.Attributes = append(slices.Clone(s.Attributes), attribute.KeyValue{
					Key: attribute.Key(spantest.Pick(
						r, attrkey.Step, attrkey.Device, attrkey.DType, attrkey.Root, attrkey.Launch, attrkey.ClockError, "device", "x")), Value: r.Value(1),
				})
			case 3:
				other := r.Operation()
				other.Attributes, other.SpanContext = s.Attributes, s.SpanContext
				s = other
			}
			stubs = append(stubs, s)
		}
		for _, f := range allFormats {
			checkMemo(t, f, stubs)
		}
	})
}

// varieties are attributes that differ from one operation to the next.
var varieties = []func(i int) []attribute.KeyValue{
	func(i int) []attribute.KeyValue {
		numbers := make([]int64, 390)
		numbers[0] = int64(i)
		return []attribute.KeyValue{tensorconv.OpName("embedding"), attribute.Int64Slice("token.ids", numbers)}
	},
	func(i int) []attribute.KeyValue {
		return []attribute.KeyValue{tensorconv.OpName(fmt.Sprintf("%0500d", i))}
	},
	func(i int) []attribute.KeyValue {
		return []attribute.KeyValue{tensorconv.OpName("matmul"), attribute.Int(fmt.Sprintf("request.%0100d", i), i)}
	},
	func(i int) []attribute.KeyValue {
		return []attribute.KeyValue{
			tensorconv.OpName("add"), tensorconv.InputShapes([]int64{int64(i), 784}, []int64{784, 256}), tensorconv.OutputShape(int64(i), 256),
		}
	},
	func(i int) []attribute.KeyValue {
		scalars := make([][]int64, 100)
		scalars[7] = []int64{int64(i)}
		return []attribute.KeyValue{tensorconv.OpName("add"), tensorconv.InputShapes(scalars...)}
	},
}

// All caches of a processor together keep to their bound, and buffers and caches to
// theirs, on many cores, whatever operations there are.
func TestM3CachesKeepToTheirBound(t *testing.T) {
	cases.Rare(t)
	const (
		cores       = 64
		bufferBytes = 8 << 20
	)
	cacheBytes := int64(cases.Count(t, 16, 64)) << 20 // of 64 MiB, the default
	each := int(1500 * cacheBytes / (64 << 20))       // operations of each core: enough to fill a cache
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	var mapping attr.Mapping
	mapping.Keep("token.ids")
	for _, format := range []optrace.Format{optrace.FormatEntries, optrace.FormatOTLPProto} {
		t.Run(format.String(), func(t *testing.T) {
			var out gate
			before := check.Heap()
			exp := newExporter(t, &out, optrace.WithFormat(format), optrace.WithMapping(&mapping))
			proc := newProcessor(t, exp, optrace.WithBufferBytes(bufferBytes), optrace.WithFlushInterval(time.Hour),
				optrace.WithCacheBytes(cacheBytes))
			onEveryCore(cores, func(core int) {
				rec := proc.Recorder(t.Context())
				for i := range each {
					i += core * each
					stub := spantest.Operation(i)
					stub.Attributes = varieties[i%len(varieties)](i)
					s := stub.Snapshot()
					proc.OnEnd(s)
					proc.OnEnd(s) // sets that repeat keep a cache in use
					rec.Begin(strings.Repeat("n", i%100), "").In(int64(i), 7).Out(int64(i)).Attrs(stub.Attributes...)
					rec.Finish()
				}
			})
			out.shut.Lock() // from now on buffers fill
			s := spantest.Operation(0).Snapshot()
			onEveryCore(cores, func(int) {
				for range 2 * bufferBytes / cores / 100 {
					proc.OnEnd(s)
				}
			})
			held := check.Heap() - before
			if held > bufferBytes+cacheBytes || held < cacheBytes/3 {
				t.Errorf("%.1f MiB are held, want %d at most, and most of that", float64(held)/(1<<20), (bufferBytes+cacheBytes)>>20)
			}
			out.shut.Unlock()
			shutdown(t, proc)
			checkBooks(t, "processor", proc.Stats())
		})
	}
}

// The spans in the queue of a forwarder keep to its bound, whatever they hold and whichever are given up.
func TestM3QueueKeepsToItsBound(t *testing.T) {
	const bufferBytes = 4 << 20
	for i, variety := range varieties {
		shut := make(chan struct{})
		next := &spantest.Exporter{OnExport: func(context.Context) error { <-shut; return nil }}
		before := check.Heap()
		proc := newForwarder(t, next, optrace.WithBufferBytes(bufferBytes), optrace.WithFlushInterval(time.Hour),
			optrace.WithPolicy(policies[i%2]))
		for i := range 2 * bufferBytes / 500 {
			stub := spantest.Operation(i)
			stub.Attributes = variety(i)
			proc.OnEnd(stub.Snapshot())
		}
		// What the exporter has got is no longer in the queue.
		if held := check.Heap() - before; held > bufferBytes*5/4+512*10_000 {
			t.Errorf("variety %d: %.1f MiB are held, want %d at most", i, float64(held)/(1<<20), bufferBytes>>20)
		}
		close(shut)
		shutdown(t, proc)
		checkBooks(t, "forwarder", proc.Stats())
	}
}

// gate is a writer that takes everything, and waits while it is shut.
type gate struct{ shut sync.Mutex }

func (g *gate) Write(p []byte) (int, error) {
	g.shut.Lock()
	defer g.shut.Unlock()
	return len(p), nil
}

// onEveryCore runs f on as many goroutines as there are cores, all at the same time.
func onEveryCore(cores int, f func(core int)) {
	var wg sync.WaitGroup
	for core := range cores {
		wg.Go(func() { f(core) })
	}
	wg.Wait()
}
