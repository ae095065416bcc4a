package optrace_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

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
	const (
		cores       = 64
		bufferBytes = 8 << 20
	)
	cacheBytes := int64(cases.Count(t, 16, 64)) << 20 // of 64 MiB, the default
	each := int(1500 * cacheBytes / (64 << 20))       // operations of each core: enough to fill a cache
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	var mapping op.Mapping
	mapping.Keep("token.ids")
	for _, format := range []optrace.Format{optrace.FormatEntries, optrace.FormatOTLPProto} {
		t.Run(format.String(), func(t *testing.T) {
			var out gate
			before := heapInUse()
			exp, err := optrace.NewExporter(&out, optrace.WithFormat(format), optrace.WithMapping(&mapping))
			if err != nil {
				t.Fatal(err)
			}
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
			held := int64(heapInUse()) - int64(before)
			if held > bufferBytes+cacheBytes || held < cacheBytes/3 {
				t.Errorf("%.1f MiB are held, want %d at most, and most of that", float64(held)/(1<<20), (bufferBytes+cacheBytes)>>20)
			}
			out.shut.Unlock()
			if err := proc.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkBooks(t, "processor", proc.Stats())
		})
	}
}

// The spans in the queue of a forwarder keep to its bound, whatever they hold.
func TestM3QueueKeepsToItsBound(t *testing.T) {
	const bufferBytes = 4 << 20
	for i, variety := range varieties {
		t.Run(fmt.Sprint("variety ", i), func(t *testing.T) {
			shut := make(chan struct{})
			next := &spantest.Exporter{OnExport: func(context.Context) error { <-shut; return nil }}
			before := heapInUse()
			proc, err := optrace.NewForwarder(next, optrace.WithBufferBytes(bufferBytes), optrace.WithFlushInterval(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			for i := range 2 * bufferBytes / 500 {
				stub := spantest.Operation(i)
				stub.Attributes = variety(i)
				proc.OnEnd(stub.Snapshot())
			}
			// What the exporter has got is no longer in the queue.
			if held := int64(heapInUse()) - int64(before); held > bufferBytes*5/4+512*10_000 {
				t.Errorf("%.1f MiB are held, want %d at most", float64(held)/(1<<20), bufferBytes>>20)
			}
			close(shut)
			if err := proc.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkBooks(t, "forwarder", proc.Stats())
		})
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
