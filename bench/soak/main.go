// Command soak records operations as fast as it can and checks that every one of
// them is accounted for.
//
// Usage:
//
//	go run -C bench ./soak [-producers 2] [-for 10s] [-policy drop-newest] [-format entries]
//		[-compression none] [-rate BYTES | -rotate BYTES] [-o FILE]
//
// Each producer starts and ends prepared operations in a tight loop. They go
// through a Processor to a file, or with -rate to a sink that takes that many
// bytes a second. Then the output is read back: the entries in it, and the
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
	path      string
}

func main() {
	cfg := config{}
	flag.IntVar(&cfg.producers, "producers", 2, "number of `goroutines` that record")
	flag.DurationVar(&cfg.duration, "for", 10*time.Second, "how `long` they record")
	flag.IntVar(&cfg.rate, "rate", 0, "`bytes` a second that the sink takes, 0 for as fast as the disk is")
	flag.Int64Var(&cfg.rotate, "rotate", 0, "`bytes` of a file before it is rotated, read and removed")
	flag.StringVar(&cfg.path, "o", "", "`file` to write, a temporary one by default")
	policy := flag.String("policy", optrace.PolicyDropNewest.String(), "what to do without room: drop-newest, drop-oldest or block")
	format := flag.String("format", optrace.FormatEntries.String(), "what to write: entries, otlp-json or otlp-proto")
	packing := flag.String("compression", optrace.CompressionNone.String(), "how to compress: none, gzip or zstd")
	flag.Parse()
	ok := choose(&cfg.policy, *policy, optrace.PolicyDropNewest, optrace.PolicyDropOldest, optrace.PolicyBlock) &&
		choose(&cfg.format, *format, optrace.FormatEntries, optrace.FormatOTLPJSON, optrace.FormatOTLPProto) &&
		choose(&cfg.packing, *packing, optrace.CompressionNone, optrace.CompressionGzip, optrace.CompressionZstd)
	if !ok {
		os.Exit(2)
	}
	if err := run(cfg, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// choose sets v to the one of all that has the name.
func choose[T fmt.Stringer](v *T, name string, all ...T) bool {
	for _, one := range all {
		if one.String() == name {
			*v = one
			return true
		}
	}
	fmt.Fprintf(os.Stderr, "soak: %q is none of %v\n", name, all)
	return false
}

func run(cfg config, out io.Writer) (err error) {
	if cfg.rotate > 0 {
		return runRotated(cfg, out)
	}
	f, err := create(cfg.path)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if cfg.path == "" {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	var sink io.Writer = f
	if cfg.rate > 0 {
		sink = &slowWriter{w: f, rate: cfg.rate}
	}
	st, elapsed, err := record(cfg, sink)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	cfg.print(out, st, elapsed, info.Size())
	var found tally
	if err := found.read(f.Name()); err != nil {
		return err
	}
	return found.check(cfg.format, st, out)
}

// print prints what was recorded, and how fast.
func (cfg config) print(out io.Writer, st optrace.Stats, elapsed time.Duration, bytes int64) {
	n := float64(st.Recorded)
	fmt.Fprintf(out, "%v, compression %v, %v: %d operations in %.1f s by %d producers (GOMAXPROCS %d): %.0f a second\n",
		cfg.format, cfg.packing, cfg.policy, st.Recorded, elapsed.Seconds(), cfg.producers, runtime.GOMAXPROCS(0), n/elapsed.Seconds())
	fmt.Fprintf(out, "  on disk without loss: %.0f a second, %.1f MB, %.1f bytes each\n",
		float64(st.Written)/elapsed.Seconds(), float64(bytes)/1e6, float64(bytes)/max(1, float64(st.Written)))
	fmt.Fprintf(out, "  written %d, dropped %d (%.2f %%)\n", st.Written, st.Dropped, 100*float64(st.Dropped)/max(n, 1))
}

func create(path string) (*os.File, error) {
	if path == "" {
		return os.CreateTemp("", "soak-*.jsonl")
	}
	return os.Create(path)
}

// record lets the producers record for the duration and returns what became of
// it after Shutdown.
func record(cfg config, sink io.Writer) (optrace.Stats, time.Duration, error) {
	exp, err := optrace.NewExporter(sink, optrace.WithFormat(cfg.format), optrace.WithCompression(cfg.packing))
	if err != nil {
		return optrace.Stats{}, 0, err
	}
	return recordTo(cfg, exp)
}

// recordTo is record with an exporter.
func recordTo(cfg config, exp *optrace.Exporter) (optrace.Stats, time.Duration, error) {
	proc, err := optrace.NewProcessor(exp, optrace.WithPolicy(cfg.policy))
	if err != nil {
		return optrace.Stats{}, 0, err
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	prep, err := optrace.NewTracer(tp).Prepare(optrace.OpSpec{
		Name: "matmul", Device: "cuda:0", DType: op.F32,
		Inputs: []op.Shape{{64, 784}, {784, 256}}, Output: op.Shape{64, 256},
	})
	if err != nil {
		return optrace.Stats{}, 0, err
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
	elapsed := time.Since(start) // until all of it is with the disk
	st := proc.Stats()
	if st.Recorded != ended.Load() {
		err = errors.Join(err, fmt.Errorf("%d operations ended, %d were recorded", ended.Load(), st.Recorded))
	}
	return st, elapsed, err
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
