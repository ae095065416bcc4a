package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

var endurance = flag.Duration("endurance", 0, "record for this `duration` in TestEveryOperationIsAccountedFor")

// Two goroutines record at full rate into rotated files. A reader follows, reads each finished file
// and removes it. The entries and the losses in gap records add up to the recorded operations, the
// batches have no holes, and PolicyBlock loses no operation.
func TestEveryOperationIsAccountedFor(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("this system reserves the names of rotated files")
	}
	duration := *endurance
	if duration == 0 {
		duration = time.Duration(cases.Count(t, 1, 100)) * 100 * time.Millisecond
	}
	for _, policy := range []optrace.Policy{optrace.PolicyBlock, optrace.PolicyDropOldest, optrace.PolicyDropNewest} {
		for _, compression := range []optrace.Compression{optrace.CompressionNone, optrace.CompressionZstd} {
			t.Run(fmt.Sprint(policy, compression), func(t *testing.T) {
				f := &follower{path: filepath.Join(t.TempDir(), "ops.jsonl")}
				exp := check.Must(optrace.NewFileExporter(f.path, optrace.WithCompression(compression),
					optrace.WithRotation(optrace.Rotation{MaxBytes: 64_000_000})))(t)
				ctx, stop := context.WithCancel(t.Context())
				var following sync.WaitGroup
				following.Go(func() { f.follow(ctx, t) })
				st := recordFor(t, exp, policy, duration)
				stop()
				following.Wait()
				f.rotated(t)
				f.read(t, f.path)
				t.Logf("%d operations, %d dropped, %d files, heap at most %d MB", st.Recorded, st.Dropped, f.files,
					f.heap>>20)
				if f.entries != st.Written || f.lost != st.Dropped || st.Recorded != f.entries+f.lost || f.holes > 0 ||
					policy == optrace.PolicyBlock && f.lost > 0 {
					t.Errorf("%+v; the files have %d entries, %d lost, %d holes", st, f.entries, f.lost, f.holes)
				}
			})
		}
	}
}

// recordFor records prepared operations in two goroutines and shuts down.
func recordFor(t *testing.T, exp *optrace.Exporter, policy optrace.Policy, d time.Duration) optrace.Stats {
	t.Helper()
	opts := []optrace.ProcessorOption{optrace.WithPolicy(policy)}
	if policy != optrace.PolicyBlock {
		opts = append(opts, optrace.WithMaxBytes(1<<17)) // so small that operations are lost
	}
	proc := check.Must(optrace.NewProcessor(exp, opts...))(t)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	prep := check.Must(optrace.NewTracer(tp).Prepare(optrace.OpSpec{
		Name: "matmul", Device: "cuda:0", DType: op.F32, Inputs: []op.Shape{{64, 784}, {784, 256}},
		Output: op.Shape{64, 256},
	}))(t)
	var ended [2]uint64
	var wg sync.WaitGroup
	start := time.Now()
	for i := range ended {
		wg.Go(func() {
			ctx, request := tp.Tracer("producer").Start(t.Context(), "request")
			defer request.End()
			for time.Since(start) < d {
				for range 64 {
					_, o := prep.Start(ctx)
					o.End()
				}
				ended[i] += 64
			}
		})
	}
	wg.Wait()
	check.OK(t, tp.Shutdown(t.Context()))
	st := proc.Stats()
	check.Equal(t, "recorded operations", ended[0]+ended[1], st.Recorded)
	return st
}

// follower reads rotated files and removes them.
type follower struct {
	path                 string // of the current file
	entries, lost, holes uint64
	next                 int64 // sequence number of the next batch
	files                int
	heap                 uint64
}

func (f *follower) follow(ctx context.Context, t *testing.T) {
	for ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
		f.rotated(t)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		f.heap = max(f.heap, m.HeapAlloc)
	}
}

// rotated reads the finished files. Their names sort by age.
func (f *follower) rotated(t *testing.T) {
	found, err := os.ReadDir(filepath.Dir(f.path))
	if err != nil {
		t.Error(err)
	}
	for _, e := range found {
		if path := filepath.Join(filepath.Dir(f.path), e.Name()); path != f.path {
			f.read(t, path)
		}
	}
}

func (f *follower) read(t *testing.T, path string) {
	for rec, err := range ingest.Open(path).Records() {
		switch {
		case err != nil:
			t.Error(err)
		case rec.Entry != nil:
			f.entries++
		case rec.Gap != nil:
			f.lost += uint64(rec.Gap.Dropped)
		case rec.Batch != nil:
			if rec.Batch.Sequence != f.next {
				f.holes++
			}
			f.next = rec.Batch.Sequence + 1
		}
	}
	f.files++
	if err := os.Remove(path); err != nil {
		t.Error(err)
	}
}
