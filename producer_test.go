package optrace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/fulldisk"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
)

// producer is a process recording operations with distinct steps. After every flush it reports how many are safe.
type producer struct {
	Path        string
	Format      optrace.Format
	Compression optrace.Compression
	MaxBytes    int64         // of a file before its rotation; 0 is unlimited
	Run         int64         // number of the run, which separates its steps from others
	Batch       int           // operations between two flushes
	Pause       time.Duration // after each flush
	For         time.Duration // duration; 0 is until a kill
	MaxFile     uint64        // limit of the system for files; 0 is unlimited
	MayLose     bool          // losses are no errors
	Way         way           // of recording
}

// way is a way of recording operations.
type way string

// The ways.
const (
	waySpans    way = ""         // spans of a Tracer
	wayRecorder way = "recorder" // a Recorder of the Processor
	wayQueue    way = "queue"    // a device that has finished the operations
	wayFlight   way = "flight"   // spans, dumped by a FlightRecorder
)

var ways = []way{waySpans, wayRecorder, wayQueue, wayFlight}

// told has the last reported counts of a producer.
type told struct{ Recorded, Written, Dropped int64 }

// producerVariable is the environment variable with the configuration of a producer.
const producerVariable = "OPTRACE_TEST_PRODUCER"

// stepsPerRun separates the steps of two producers.
const stepsPerRun = 1_000_000_000

// produce records and exits if this process is a producer, and returns otherwise. Programs that start
// producers call it first.
func produce() {
	config := os.Getenv(producerVariable)
	if config == "" {
		return
	}
	var p producer
	err := json.Unmarshal([]byte(config), &p)
	if err == nil {
		err = p.record(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// record records operations. It writes the counts after every flush and at the end.
func (p *producer) record(out io.Writer) error {
	if p.MaxFile > 0 {
		if _, err := fulldisk.LimitFiles(p.MaxFile); err != nil {
			return err
		}
	}
	exp, err := optrace.NewFileExporter(p.Path, optrace.WithFormat(p.Format), optrace.WithCompression(p.Compression),
		optrace.WithRotation(optrace.Rotation{MaxBytes: p.MaxBytes}))
	if err != nil {
		return err
	}
	w, err := p.Way.start(exp, p)
	if err != nil {
		return err
	}
	tell := func() {
		st := w.proc.Stats()
		fmt.Fprintln(out, st.Recorded, st.Written, st.Dropped)
	}
	end := time.Now().Add(p.For)
	for i := int64(0); p.For == 0 || time.Now().Before(end); {
		for range p.Batch {
			w.operation(optrace.ContextWithStep(context.Background(), p.Run*stepsPerRun+i), p.Run*stepsPerRun+i)
			i++
		}
		if err := w.flush(context.Background()); err != nil && !p.MayLose {
			fmt.Fprintln(os.Stderr, err)
		}
		tell()
		time.Sleep(p.Pause)
	}
	err = w.proc.Shutdown(context.Background())
	tell()
	if p.MayLose {
		return nil
	}
	return err
}

// wayOfRecording records operations in one of the ways.
type wayOfRecording struct {
	proc interface {
		Stats() optrace.Stats
		Shutdown(context.Context) error
	}
	operation func(ctx context.Context, step int64)
	flush     func(context.Context) error
}

// start returns the way to exp.
func (w way) start(exp *optrace.Exporter, p *producer) (wayOfRecording, error) {
	if w == wayFlight {
		flight, err := optrace.NewFlightRecorder(exp, p.Batch)
		return wayOfRecording{flight, spans(flight), flight.Dump}, err
	}
	proc, err := optrace.NewProcessor(exp, optrace.WithPolicy(optrace.PolicyBlock))
	if err != nil {
		return wayOfRecording{}, err
	}
	switch w {
	case wayRecorder:
		r := proc.Recorder(context.Background())
		return wayOfRecording{proc, func(_ context.Context, step int64) {
			r.Step(step)
			r.Begin("matmul", "cuda:0").In(64, 784).In(784, 256).Out(64, 256).End()
		}, func(ctx context.Context) error {
			r.Finish()
			return proc.ForceFlush(ctx)
		}}, nil
	case wayQueue:
		q, err := optrace.NewQueue[passed](proc)
		if err != nil {
			return wayOfRecording{}, err
		}
		prepared, err := new(optrace.Tracer).Prepare(optrace.OpSpec{Name: "matmul", Device: "cuda:0"})
		return wayOfRecording{proc, func(ctx context.Context, _ int64) {
			now := passed(time.Now().UnixNano())
			q.Launched(q.Begin(ctx, prepared), now, now)
			q.Poll()
		}, func(ctx context.Context) error {
			return errors.Join(q.ForceFlush(ctx), proc.ForceFlush(ctx))
		}}, err
	}
	return wayOfRecording{proc, spans(proc), proc.ForceFlush}, nil
}

// passed is the time of a completed event in Unix nanoseconds.
type passed int64

// Time implements [optrace.Event].
func (at passed) Time() (int64, bool, error) { return int64(at), true, nil }

// spans returns a function to record an operation as a span.
func spans(p sdktrace.SpanProcessor) func(context.Context, int64) {
	tracer := optrace.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p)))
	return func(ctx context.Context, _ int64) {
		_, o := tracer.Start(ctx, "matmul", "cuda:0")
		o.In(64, 784).In(784, 256).Out(64, 256).End()
	}
}

// process is a started producer.
type process struct {
	cmd  *exec.Cmd
	out  spantest.Buffer // reported lines
	errs strings.Builder
}

// Start starts the process of p. The end of ctx kills it.
func (p producer) Start(ctx context.Context) (*process, error) {
	config, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	r := &process{cmd: exec.CommandContext(ctx, os.Args[0])}
	r.cmd.Env = append(os.Environ(), producerVariable+"="+string(config))
	r.cmd.Stdout = &r.out
	r.cmd.Stderr = &r.errs
	return r, r.cmd.Start()
}

// Told returns the last counts.
func (r *process) Told() (t told) {
	lines := bytes.Split(r.out.Bytes(), []byte("\n"))
	if whole := len(lines) - 1; whole > 0 { // the last line may be incomplete
		_, _ = fmt.Sscan(string(lines[whole-1]), &t.Recorded, &t.Written, &t.Dropped)
	}
	return t
}

// Kill kills the process.
func (r *process) Kill() error { return r.cmd.Process.Kill() }

// Wait waits for the end of the process. A kill is no error.
func (r *process) Wait() error {
	err := r.cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() < 0 {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("a producer failed: %w\n%s", err, r.errs.String())
	}
	return err
}

// foundOps has the operations in the files of a directory.
type foundOps struct {
	// Malformed counts the unreadable records.
	Malformed int
	// Unreadable has the errors of files that could not be read to their end.
	Unreadable []error

	times map[int64]int // number of occurrences by step
}

// findOps reads the files in dir, in any format.
func findOps(dir string) (*foundOps, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	f := &foundOps{times: make(map[int64]int)}
	for _, file := range files {
		f.read(filepath.Join(dir, file.Name()))
	}
	return f, nil
}

func (f *foundOps) read(path string) {
	for rec, err := range ingest.Open(path).Records() {
		if bad := (*op.SyntaxError)(nil); errors.As(err, &bad) {
			f.Malformed++
		} else if err != nil {
			f.Unreadable = append(f.Unreadable, err)
		}
		if err == nil && rec.Entry != nil {
			f.times[rec.Entry.Step.V]++
		}
	}
}

// Of returns the number of distinct operations of a run.
func (f *foundOps) Of(run int64) (n int64) {
	for step := range f.times {
		if step/stepsPerRun == run {
			n++
		}
	}
	return n
}

// Lost returns how many of the first n operations of a run are missing.
func (f *foundOps) Lost(run, n int64) (lost int64) {
	for i := range n {
		if f.Times(run, i) == 0 {
			lost++
		}
	}
	return lost
}

// Times returns the number of occurrences of the i-th operation of a run.
func (f *foundOps) Times(run, i int64) int { return f.times[run*stepsPerRun+i] }

// Repeated returns the number of operations with several occurrences.
func (f *foundOps) Repeated() (n int64) {
	for _, times := range f.times {
		if times > 1 {
			n++
		}
	}
	return n
}
