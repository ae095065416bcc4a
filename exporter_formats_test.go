package optrace_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/tensorconv"
)

// output is a combination of format, compression and rotation.
type output struct {
	format      optrace.Format
	compression optrace.Compression
}

func (o output) String() string { return fmt.Sprintf("%v %v", o.format, o.compression) }

// options returns o's options and others.
func (o output) options(others ...optrace.ExporterOption) []optrace.ExporterOption {
	return append([]optrace.ExporterOption{optrace.WithFormat(o.format), optrace.WithCompression(o.compression)},
		others...)
}

// outputs returns all combinations.
func outputs() (all []output) {
	for _, f := range allFormats {
		for _, c := range []optrace.Compression{optrace.CompressionNone, optrace.CompressionGzip,
			optrace.CompressionZstd} {
			all = append(all, output{f, c})
		}
	}
	return all
}

// exportTo appends operations with the steps 0 to n-1 to a file, like a separate process.
func (o output) exportTo(tb testing.TB, path string, n int) {
	tb.Helper()
	exp := newFile(tb, path, o.options()...)
	export(tb, exp, spantest.Operations(n)...)
	shutdown(tb, exp)
}

// exported returns one batch of spans in a format.
func exported(tb testing.TB, f optrace.Format, spans []sdktrace.ReadOnlySpan) []byte {
	tb.Helper()
	var out bytes.Buffer
	check.OK(tb, newExporter(tb, &out, optrace.WithFormat(f)).ExportSpans(tb.Context(), spans))
	return out.Bytes()
}

// keepAll returns a mapping that keeps all attributes in entries.
func keepAll() *attr.Mapping {
	m := new(attr.Mapping)
	m.KeepAll()
	return m
}

// noise returns n characters that compress badly.
func noise(n int) string {
	raw := make([]byte, n/2)
	for i := range raw {
		raw[i] = byte(rand.Uint32())
	}
	return hex.EncodeToString(raw)
}

// manyAttributes returns n attributes with texts of size bytes.
func manyAttributes(n, size int) (attrs []attribute.KeyValue) {
	for i := range n {
		attrs = append(attrs, attribute.String(fmt.Sprint("note.", i), strings.Repeat("x", size)))
	}
	return attrs
}

// Readers can read every written operation. Cut operations are marked and counted. See docs/reliability.md.
func TestLargeOperationsAreShortened(t *testing.T) {
	cases.NotUnderRace(t, cases.OneGoroutine)
	const huge = 9 << 20
	long := strings.Repeat("ü\x00", huge/3)
	enlargements := map[string]func(*tracetest.SpanStub){
		"text": func(s *tracetest.SpanStub) { s.Attributes = append(s.Attributes, attribute.String("note", long)) },
		"name": func(s *tracetest.SpanStub) { s.Name = long },
		"error": func(s *tracetest.SpanStub) {
			s.Status = sdktrace.Status{Code: 1, Description: long}
		},
		"list": func(s *tracetest.SpanStub) {
			s.Attributes = append(s.Attributes, attribute.Int64Slice("ids", make([]int64, huge/4)))
		},
		"attributes": func(s *tracetest.SpanStub) {
			s.Attributes = append(s.Attributes, manyAttributes(5000, 4000)...)
		},
		"shapes first": func(s *tracetest.SpanStub) {
			s.Attributes = append(manyAttributes(5000, 4000), s.Attributes...)
		},
		"events": func(s *tracetest.SpanStub) {
			for range 5000 {
				s.Events = append(s.Events, sdktrace.Event{Name: "e", Attributes: manyAttributes(1, 4000)})
			}
		},
		"resource": func(s *tracetest.SpanStub) { s.Resource = resource.NewSchemaless(attribute.String("note", long)) },
		"scope":    func(s *tracetest.SpanStub) { s.InstrumentationScope = instrumentation.Scope{Name: long} },
	}
	mapping := keepAll()
	for name := range cases.Of(t, 2, slices.Sorted(maps.Keys(enlargements))) {
		enlarge := enlargements[name]
		t.Run(name, func(t *testing.T) {
			for o := range cases.Of(t, 1, outputs()) {
				dir := t.TempDir()
				exp := newFile(t, filepath.Join(dir, "ops.x"), o.options(optrace.WithMapping(mapping))...)
				large := spantest.Operation(1)
				enlarge(&large)
				export(t, exp, spantest.Operation(0).Snapshot(), large.Snapshot(), spantest.Operation(2).Snapshot())
				shutdown(t, exp)
				found := findIn(t, dir)
				check.Equal(t, fmt.Sprintf("%v: operations there and written, and unreadable records", o),
					[3]int{3, 3, 0}, [3]int{int(found.Of(0)), int(exp.Stats().Written), found.Malformed})
			}
		})
	}
}

// A cut text ends with a mark, and the operation has a warning.
func TestShortenedIsMarkedAndCounted(t *testing.T) {
	for _, f := range allFormats {
		path := filepath.Join(t.TempDir(), "ops.x")
		mapping := keepAll()
		exp := newFile(t, path, optrace.WithFormat(f), optrace.WithMapping(mapping))
		proc := newProcessor(t, exp)
		large := spantest.Operation(1)
		large.Attributes = append(large.Attributes, attribute.String("note", strings.Repeat("ü", 9<<20)))
		proc.OnEnd(spantest.Operation(0).Snapshot())
		proc.OnEnd(large.Snapshot())
		shutdown(t, proc)
		check.Equal(t, f.String()+": records that were shortened", [2]uint64{1, 1},
			[2]uint64{exp.Stats().Shortened, proc.Stats().Shortened})
		entries, _ := recordtest.Split(t, (ingest.Options{Mapping: mapping}).Open(path).Records())
		e := entries[slices.IndexFunc(entries, func(e *op.Entry) bool { return e.Step.V == 1 })]
		note := slices.IndexFunc(e.Attrs, func(a op.Attr) bool { return a.Key == "note" })
		text := e.Attrs[note].Value
		if e.Warn&op.WarnDroppedAttributes == 0 || !strings.HasSuffix(text, "ü…") || len(text) > 64<<10 {
			t.Errorf("%v: the text of %d bytes has no mark, or nothing is said to be missing: warnings %b", f,
				len(text), e.Warn)
		}
	}
}

// A batch of any size is written in readable messages.
func TestLargeBatchesAreWhole(t *testing.T) {
	cases.Rare(t)
	cases.NotUnderRace(t, cases.OneGoroutine)
	n := cases.Count(t, 100, 512) // 200 KiB each: at least two messages
	for o := range cases.Of(t, 3, outputs()) {
		t.Run(o.String(), func(t *testing.T) {
			dir := t.TempDir()
			exp := newFile(t, filepath.Join(dir, "ops.x"), o.options(optrace.WithMapping(keepAll()))...)
			var spans []sdktrace.ReadOnlySpan
			for i := range n {
				s := spantest.Operation(i)
				s.Attributes = append(s.Attributes, attribute.String("note", noise(100<<10)),
					attribute.String("more", noise(100<<10)))
				spans = append(spans, s.Snapshot())
			}
			export(t, exp, spans...)
			shutdown(t, exp)
			found := findIn(t, dir)
			check.Equal(t, "operations there and written, and unreadable records", [3]int{n, n, 0},
				[3]int{int(found.Of(0)), int(exp.Stats().Written), found.Malformed})
		})
	}
}

// A batch written in parts counts the outcome of each part.
func TestLargeBatchThatFailsInPart(t *testing.T) {
	var out bytes.Buffer
	writes := 0
	exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
		if writes++; writes == 2 {
			return 0, errDisk
		}
		return out.Write(p)
	}), optrace.WithMapping(keepAll()))
	var spans []sdktrace.ReadOnlySpan
	const n = 100
	for i := range n {
		s := spantest.Operation(i)
		s.Attributes = append(s.Attributes, manyAttributes(1, 500<<10)...)
		spans = append(spans, s.Snapshot())
	}
	check.Says(t, "", "", exp.ExportSpans(context.Background(), spans))
	shutdown(t, exp)
	st := exp.Stats()
	checkBooks(t, "exporter", st)
	rec := spantest.ReadWhole(t, out.Bytes())
	if uint64(len(rec.Entries)) != st.Written || rec.Lost() != st.Dropped || st.Recorded != n || st.Dropped == 0 ||
		writes < 4 {
		t.Errorf("%d entries, %d lost in %d writes, with %+v", len(rec.Entries), rec.Lost(), writes, st)
	}
}

var allFormats = []optrace.Format{optrace.FormatEntries, optrace.FormatOTLPJSON, optrace.FormatOTLPProto}

// checkMemo checks that an exporter with a cache writes the same for repeated stubs as one without. It returns the
// number of cache hits.
func checkMemo(tb testing.TB, f optrace.Format, stubs tracetest.SpanStubs, opts ...optrace.ExporterOption) (hits int) {
	tb.Helper()
	var with, without bytes.Buffer
	opts = append(slices.Clone(opts), optrace.WithFormat(f))
	memo := newExporter(tb, &with, opts...)
	plain := newExporter(tb, &without, append(opts, optrace.WithCacheBytes(0))...)
	spans := stubs.Snapshots()
	for round := range 3 {
		for _, exp := range []*optrace.Exporter{memo, plain} {
			export(tb, exp, spans...)
		}
		got := withoutWriter(f, with.Bytes())
		want := withoutWriter(f, without.Bytes())
		check.Equal(tb, fmt.Sprintf("%v, round %d: what is written with a memory", f, round), string(want), string(got))
		with.Reset()
		without.Reset()
	}
	return optrace.CacheHits(memo)
}

// withoutWriter removes the writer's name from the batch record.
func withoutWriter(f optrace.Format, text []byte) []byte {
	if f == optrace.FormatEntries {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text
}

// FuzzMemo makes operations that share attributes or differ in one. The mapping changes the meaning of step and device.
func FuzzMemo(f *testing.F) {
	random := rand.NewChaCha8([32]byte{})
	for i := range cases.Count(f, 150, 1000) {
		seed := make([]byte, 3000+i%2)
		_, _ = random.Read(seed)
		f.Add(seed)
	}
	keys := append(slices.Clone(convertKeys),
		attrkey.Root, attrkey.Launch, attrkey.ClockError, attrkey.Warnings, "step", "optrace.launch_unix_ns")
	var m attr.Mapping
	m.Keep(attrkey.Step)
	m.Keep(attrkey.Device)
	m.Alias(attrkey.Device, attrkey.Path)
	mappings := []*attr.Mapping{nil, &m}
	f.Fuzz(func(t *testing.T, input []byte) {
		const maxSpans = 24
		r := &spantest.Random{Data: input, Keys: keys}
		first := spantest.Operation(0)
		if r.Below(2) == 1 {
			first = r.Operation()
		}
		stubs := tracetest.SpanStubs{first}
		for len(r.Data) > 0 && len(stubs) < maxSpans {
			s := stubs[r.Below(len(stubs))]
			s.SpanContext = s.SpanContext.WithSpanID(spantest.SpanID(len(stubs)))
			switch r.Below(5) {
			case 0: // new ids, or none
				s.SpanContext = spantest.Pick(r, s.SpanContext, s.SpanContext.WithSpanID(trace.SpanID{}),
					r.Operation().SpanContext)
			case 1:
				s.Attributes = slices.Clone(s.Attributes)
				if i := r.Below(max(1, len(s.Attributes))); i < len(s.Attributes) {
					s.Attributes[i].Value = r.Value(2)
				}
			case 2:
				s.Attributes = append(slices.Clone(s.Attributes),
					attribute.KeyValue{Key: attribute.Key(r.Key()), Value: r.Value(1)})
			case 3:
				s.Attributes = slices.Clone(s.Attributes[:len(s.Attributes)-r.Below(1+len(s.Attributes))])
				slices.Reverse(s.Attributes)
			case 4:
				other := reflect.ValueOf(r.Operation())
				i := r.Below(other.NumField())
				reflect.ValueOf(&s).Elem().Field(i).Set(other.Field(i))
			}
			stubs = append(stubs, s)
		}
		for _, f := range allFormats {
			checkMemo(t, f, stubs, optrace.WithMapping(mappings[len(input)%2]))
		}
	})
}

// varieties are attributes that differ between operations.
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
			tensorconv.OpName("add"), tensorconv.InputShapes([]int64{int64(i), 784}, []int64{784, 256}),
			tensorconv.OutputShape(int64(i), 256),
		}
	},
	func(i int) []attribute.KeyValue {
		scalars := make([][]int64, 100)
		scalars[7] = []int64{int64(i)}
		return []attribute.KeyValue{tensorconv.OpName("add"), tensorconv.InputShapes(scalars...)}
	},
}

// The caches of a processor together keep to their bound, and the buffers to theirs, on many cores, for any operations.
// See docs/reliability.md.
func TestCachesKeepToTheirBound(t *testing.T) {
	cases.Rare(t)
	const (
		cores       = 64
		bufferBytes = 8 << 20
	)
	cacheBytes := int64(cases.Count(t, 16, 64)) << 20 // 64 MiB is the default
	each := int(1500 * cacheBytes / (64 << 20))       // operations per core, enough to fill a cache
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	var mapping attr.Mapping
	mapping.Keep("token.ids")
	for _, format := range []optrace.Format{optrace.FormatEntries, optrace.FormatOTLPProto} {
		t.Run(format.String(), func(t *testing.T) {
			var shut sync.Mutex // blocks the writer
			before := check.Heap()
			exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
				shut.Lock()
				defer shut.Unlock()
				return len(p), nil
			}), optrace.WithFormat(format), optrace.WithMapping(&mapping))
			proc := newProcessor(t, exp, optrace.WithMaxBytes(bufferBytes), optrace.WithFlushInterval(time.Hour),
				optrace.WithCacheBytes(cacheBytes))
			atOnce(cores, func(core int) {
				rec := proc.Recorder(t.Context())
				for i := range each {
					i += core * each
					stub := spantest.Operation(i)
					stub.Attributes = varieties[i%len(varieties)](i)
					s := stub.Snapshot()
					proc.OnEnd(s)
					proc.OnEnd(s) // repeats keep a cache in use
					rec.Begin(strings.Repeat("n", i%100), "").In(int64(i), 7).Out(int64(i)).Attrs(stub.Attributes...)
					rec.Finish()
				}
			})
			shut.Lock() // fill the buffers
			s := spantest.Operation(0).Snapshot()
			atOnce(cores, func(int) {
				for range 2 * bufferBytes / cores / 100 {
					proc.OnEnd(s)
				}
			})
			held := check.Heap() - before
			if held > bufferBytes+cacheBytes || held < cacheBytes/3 {
				t.Errorf("%.1f MiB are held, want %d at most, and most of that", float64(held)/(1<<20),
					(bufferBytes+cacheBytes)>>20)
			}
			shut.Unlock()
			shutdown(t, proc)
			checkBooks(t, "processor", proc.Stats())
		})
	}
}

// The queue of a forwarder keeps to its bound, for any spans and policy. See docs/reliability.md.
func TestForwarderQueueKeepsToItsBound(t *testing.T) {
	const bufferBytes = 4 << 20
	for i, variety := range varieties {
		shut := make(chan struct{})
		next := &spantest.Exporter{OnExport: func(context.Context) error { <-shut; return nil }}
		before := check.Heap()
		proc := newForwarder(t, next, optrace.WithMaxBytes(bufferBytes), optrace.WithFlushInterval(time.Hour),
			optrace.WithPolicy(policies[i%2]))
		for i := range 2 * bufferBytes / 500 {
			stub := spantest.Operation(i)
			stub.Attributes = variety(i)
			proc.OnEnd(stub.Snapshot())
		}
		// The exporter's own spans have left the queue.
		if held := check.Heap() - before; held > bufferBytes*5/4+512*10_000 {
			t.Errorf("variety %d: %.1f MiB are held, want %d at most", i, float64(held)/(1<<20), bufferBytes>>20)
		}
		close(shut)
		shutdown(t, proc)
		checkBooks(t, "forwarder", proc.Stats())
	}
}

// atOnce runs f on n goroutines.
func atOnce(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}
