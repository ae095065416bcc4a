// Command soak records operations as fast as it can and checks that every one of
// them is accounted for.
//
// Usage:
//
//	go run -C bench ./soak [-producers 2] [-for 10s] [-policy drop-newest] [-format entries]
//		[-compression none] [-rate BYTES | -rotate BYTES]
//
// Each producer starts and ends prepared operations in a tight loop. They go
// through a Processor to a temporary file, or with -rate to a sink that takes that
// many bytes a second. Then the output is read back: the entries in it, and the
// losses in its gap records, must add up to the operations recorded, and
// the batches of the writer must have no holes; OTLP has entries only. The exit
// status is 1 where they do not. With -policy block nothing is lost, and the rate
// is that of the disk, or of encoding where that is slower.
//
// With -rotate the file is rotated, and a reader follows: it reads each file that
// is finished and removes it, so that a soak may last as long as one likes. The
// memory of the process is printed once a minute.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
)

type config struct {
	producers int
	duration  time.Duration
	policy    optrace.Policy
	format    optrace.Format
	packing   optrace.Compression
	rate      int
	rotate    int64
}

func main() {
	cfg := config{}
	flag.IntVar(&cfg.producers, "producers", 2, "number of `goroutines` that record")
	flag.DurationVar(&cfg.duration, "for", 10*time.Second, "how `long` they record")
	flag.IntVar(&cfg.rate, "rate", 0, "`bytes` a second that the sink takes, 0 for as fast as the disk is")
	flag.Int64Var(&cfg.rotate, "rotate", 0, "`bytes` of a file before it is rotated, read and removed")
	choice(&cfg.policy, "policy", "what to do without room", optrace.PolicyDropNewest, optrace.PolicyDropOldest, optrace.PolicyBlock)
	choice(&cfg.format, "format", "what to write", optrace.FormatEntries, optrace.FormatOTLPJSON, optrace.FormatOTLPProto)
	choice(&cfg.packing, "compression", "how to compress", optrace.CompressionNone, optrace.CompressionGzip, optrace.CompressionZstd)
	flag.Parse()
	if err := run(cfg, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// choice defines a flag that sets v to the one of all that has the name, the first by
// default.
func choice[T fmt.Stringer](v *T, name, usage string, all ...T) {
	*v = all[0]
	flag.Func(name, fmt.Sprintf("%s: one of %v (default %v)", usage, all, all[0]), func(text string) error {
		for _, one := range all {
			if one.String() == text {
				*v = one
				return nil
			}
		}
		return fmt.Errorf("none of %v", all)
	})
}

// run records into a directory, while a reader follows where files are rotated.
func run(cfg config, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &reader{path: filepath.Join(dir, "ops.out"), out: out, nextReport: time.Now().Add(time.Minute)}
	exp, sink, err := cfg.exporter(r.path)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.follow(ctx) }()
	st, elapsed, err := record(cfg, exp)
	stop()
	if err = errors.Join(err, <-done, sink()); err != nil {
		return err
	}
	if cfg.rotate > 0 {
		r.memory()
	}
	if err := errors.Join(r.rotated(), r.take(r.path)); err != nil {
		return err
	}
	n, seconds := float64(st.Recorded), elapsed.Seconds()
	fmt.Fprintf(out, "%v, compression %v, %v: %d operations in %.1f s by %d producers (GOMAXPROCS %d): %.0f a second\n",
		cfg.format, cfg.packing, cfg.policy, st.Recorded, seconds, cfg.producers, runtime.GOMAXPROCS(0), n/seconds)
	fmt.Fprintf(out, "  on disk without loss: %.0f a second, %.1f MB, %.1f bytes each\n",
		float64(st.Written)/seconds, float64(r.bytes)/1e6, float64(r.bytes)/max(1, float64(st.Written)))
	fmt.Fprintf(out, "  written %d, dropped %d (%.2f %%)\n", st.Written, st.Dropped, 100*float64(st.Dropped)/max(n, 1))
	if cfg.rotate > 0 {
		fmt.Fprintf(out, "  %d files, live heap at most %.1f MB, obtained from the system %.1f MB\n",
			r.files, float64(r.heap)/1e6, float64(r.system)/1e6)
	}
	return r.check(cfg.format, st)
}

// exporter returns an Exporter to the file at path, and a function that closes what the
// Exporter leaves open.
func (cfg config) exporter(path string) (*optrace.Exporter, func() error, error) {
	format, packing := optrace.WithFormat(cfg.format), optrace.WithCompression(cfg.packing)
	if cfg.rate == 0 {
		exp, err := optrace.NewFileExporter(path, format, packing, optrace.WithRotation(optrace.Rotation{MaxBytes: cfg.rotate}))
		return exp, func() error { return nil }, err
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, nil, err
	}
	exp, err := optrace.NewExporter(&slowWriter{f, cfg.rate}, format, packing)
	return exp, f.Close, err
}

// slowWriter passes on a bounded number of bytes a second.
type slowWriter struct {
	w    io.Writer
	rate int
}

func (s *slowWriter) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(len(p)) * time.Second / time.Duration(s.rate))
	return s.w.Write(p)
}

// record lets the producers record for the duration and returns what became of it after
// Shutdown, when all of it is with the disk.
func record(cfg config, exp *optrace.Exporter) (st optrace.Stats, elapsed time.Duration, err error) {
	proc, err := optrace.NewProcessor(exp, optrace.WithPolicy(cfg.policy))
	if err != nil {
		return st, 0, err
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	prep, err := optrace.NewTracer(tp).Prepare(optrace.OpSpec{
		Name: "matmul", Device: "cuda:0", DType: op.F32,
		Inputs: []op.Shape{{64, 784}, {784, 256}}, Output: op.Shape{64, 256},
	})
	if err != nil {
		return st, 0, err
	}
	var ended atomic.Uint64
	var wg sync.WaitGroup
	start := time.Now()
	for range cfg.producers {
		wg.Go(func() {
			ctx, request := tp.Tracer("soak").Start(context.Background(), "producer")
			defer request.End()
			n := uint64(0)
			for time.Since(start) < cfg.duration {
				for range 64 {
					_, o := prep.Start(ctx)
					o.End()
				}
				n += 64
			}
			ended.Add(n)
		})
	}
	wg.Wait()
	err = tp.Shutdown(context.Background())
	elapsed, st = time.Since(start), proc.Stats()
	if st.Recorded != ended.Load() {
		err = errors.Join(err, fmt.Errorf("%d operations ended, %d were recorded", ended.Load(), st.Recorded))
	}
	return st, elapsed, err
}
