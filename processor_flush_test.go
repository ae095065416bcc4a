package optrace_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

// moody is a disk that is sometimes full. It takes a part of the write that fills it.
type moody struct {
	spantest.Buffer
	mu   sync.Mutex
	full bool
	part int // of the next write on the full disk
}

func (m *moody) set(full bool, part int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.full = full
	m.part = part
}

func (m *moody) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.full {
		return m.Buffer.Write(p)
	}
	n := min(m.part, len(p))
	m.part = 0
	_, _ = m.Buffer.Write(p[:n])
	return n, errors.New("no space left on device")
}

// ForceFlush reports operations lost by a background write, once. The gap record follows as soon as possible, even
// without an operation.
func TestForceFlushTellsOfLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := new(moody)
		p := newProcessor(t, newExporter(t, disk), optrace.WithFlushInterval(time.Second))
		tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
		defer shutdown(t, tp)
		flush(t, p)
		disk.set(true, 0)
		record(t.Context(), tp, 100)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		disk.set(false, 0)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		check.Equal(t, "losses that the file tells of", 100, spantest.Read(t, disk.Bytes()).Lost())
		check.Says(t, "first flush", "100 operations were dropped since the last flush", p.ForceFlush(t.Context()))
		flush(t, p)
		record(t.Context(), tp, 10)
		flush(t, p)
		check.Equal(t, "operations in the file", 10, len(spantest.Read(t, disk.Bytes()).Entries))
	})
}

// After a ForceFlush without an error, all operations that ended since the last one are in the file, with concurrent
// recording and flushing, and a disk that is full at any time.
func TestFlushedIsWrittenConcurrentSafe(t *testing.T) {
	for name, opts := range map[string][]optrace.ExporterOption{
		"entries": nil, "OTLP": {optrace.WithFormat(optrace.FormatOTLPProto)},
		"gzip": {optrace.WithCompression(optrace.CompressionGzip)},
	} {
		t.Run(name, func(t *testing.T) {
			count := cases.Count(t, 200, 5000)
			synctest.Test(t, func(t *testing.T) { testFlushed(t, count, opts...) })
		})
	}
}

func testFlushed(t *testing.T, count int, opts ...optrace.ExporterOption) {
	t.Helper()
	disk := new(moody)
	p := newProcessor(t, newExporter(t, disk, opts...), optrace.WithFlushInterval(time.Second))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	tr := optrace.NewTracer(tp)
	type operation struct {
		name  string
		ended bool
	}
	var mu sync.Mutex
	var ops []*operation          // in the order of their ends
	flushed := 0                  // number of ended operations at the last ForceFlush
	flushing := 0                 // calls of ForceFlush; a running one may have reported losses
	safe := make(map[string]bool) // operations covered by a nil error
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for n := range count {
				op := &operation{name: fmt.Sprint("op", g, "-", n)}
				_, o := tr.Start(context.Background(), op.name, "cpu")
				mu.Lock()
				ops = append(ops, op)
				mu.Unlock()
				o.End()
				mu.Lock()
				op.ended = true
				mu.Unlock()
				if r.IntN(5) == 0 {
					disk.set(r.IntN(2) == 0, r.IntN(500))
				}
				if r.IntN(4) > 0 {
					continue
				}
				var covered []string
				mu.Lock()
				for _, op := range ops[flushed:] {
					if op.ended && flushing == 0 {
						covered = append(covered, op.name)
					}
				}
				flushing++
				mu.Unlock()
				err := p.ForceFlush(context.Background())
				mu.Lock()
				for _, name := range covered {
					safe[name] = safe[name] || err == nil
				}
				flushed = len(ops)
				flushing--
				mu.Unlock()
				time.Sleep(time.Duration(r.IntN(5000)) * time.Millisecond)
			}
		})
	}
	wg.Wait()
	disk.set(false, 0)
	time.Sleep(time.Minute) // until writes are tried again
	shutdown(t, tp)
	written := make(map[string]bool)
	for _, e := range spantest.Read(t, disk.Bytes()).Entries {
		written[e.Operation] = true
	}
	covered := 0
	for name, is := range safe {
		if is {
			covered++
		}
		if is && !written[name] {
			t.Errorf("%s is not in the file", name)
		}
	}
	if st := p.Stats(); covered == 0 || st.Dropped == 0 || st.Written != uint64(len(written)) {
		t.Errorf("%d operations are safe, %d are in the file, %+v", covered, len(written), st)
	}
}
