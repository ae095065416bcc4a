package optrace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/producer"
	"github.com/optrace/optrace/internal/spantest"
)

// Two processes write to one file, with and without rotation, in every format:
// what was flushed is there, and nothing is damaged.
func TestW1TwoProcessesLoseNothing(t *testing.T) {
	for o := range cases.Of(t, 4, outputs()) {
		for _, limit := range []int64{0, 400_000} {
			t.Run(fmt.Sprintf("%v %d", o, limit), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				p := producer.Producer{
					Path: filepath.Join(dir, "ops.x"), Format: o.format, Compression: o.compression, Policy: optrace.PolicyBlock,
					MaxBytes: limit, Batch: 1000, For: 500 * time.Millisecond,
				}
				var runs []*producer.Process
				for run := range int64(2) {
					p.Run = run
					runs = append(runs, startProducer(t, p))
				}
				var told []producer.Told
				for _, r := range runs {
					told = append(told, waitFor(t, r))
				}
				found := findIn(t, dir)
				for run, last := range told {
					checkFlushed(t, o.String(), found, int64(run), last.Written)
				}
				if found.Malformed > 0 {
					t.Errorf("%d records cannot be read", found.Malformed)
				}
			})
		}
	}
}

// Processes start and are killed beside one that writes: what any of them flushed
// is there.
func TestW1KilledNeighboursLoseNothing(t *testing.T) {
	for o := range cases.Of(t, 2, outputs()) {
		t.Run(o.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := producer.Producer{
				Path: filepath.Join(dir, "ops.x"), Format: o.format, Compression: o.compression, Policy: optrace.PolicyBlock,
				Batch: 200, For: 2 * time.Second,
			}
			long := startProducer(t, p)
			p.For = 0
			var told []producer.Told
			for run := int64(1); run < 5; run++ {
				p.Run = run
				neighbour := startProducer(t, p)
				time.Sleep(time.Duration(100+rand.IntN(200)) * time.Millisecond)
				if err := neighbour.Kill(); err != nil {
					t.Fatal(err)
				}
				told = append(told, waitFor(t, neighbour))
			}
			last := waitFor(t, long)
			found := findIn(t, dir)
			checkFlushed(t, o.String(), found, 0, last.Written)
			for i, last := range told {
				if last.Written > 0 {
					checkFlushed(t, o.String(), found, int64(i)+1, last.Written)
				}
			}
		})
	}
}

func startProducer(t *testing.T, p producer.Producer) *producer.Process {
	t.Helper()
	r, err := p.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// waitFor waits until a producer has ended, and returns what it told last.
func waitFor(t *testing.T, r *producer.Process) producer.Told {
	t.Helper()
	told, err := r.Wait()
	if err != nil {
		t.Error(err)
	}
	return told
}

// findIn returns the operations in the files of a directory.
func findIn(t *testing.T, dir string) *producer.Found {
	t.Helper()
	found, err := producer.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range found.Unreadable {
		t.Error(err)
	}
	return found
}

// checkFlushed checks that all of the first n operations of a run are there.
func checkFlushed(t *testing.T, what string, found *producer.Found, run, n int64) {
	t.Helper()
	if lost := found.Lost(run, n); lost > 0 || n == 0 {
		t.Errorf("%s: of %d operations of run %d that were flushed %d are lost", what, n, run, lost)
	}
}

// A process that is stopped while it holds the file keeps nobody from writing.
func TestW1StoppedNeighbour(t *testing.T) {
	for _, o := range outputs() {
		t.Run(o.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "ops.x")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			unlock := lockFile(t, path)
			exp := newFile(t, path, o.fileOptions()...)
			for i := range 20 {
				export(t, exp, spantest.Operation(i).Snapshot())
			}
			unlock()
			if err := exp.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(spantest.UpTo(20), spantest.Read(t, readFile(t, path)).Steps()); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

// The environment of a child process that records: the file, and how it ends.
const (
	recordingChildFile = "OPTRACE_TEST_CHILD_FILE"
	recordingChildEnd  = "OPTRACE_TEST_CHILD_END"
	endByExit          = "exit"
	endByKill          = "kill"
)

// childOps is how many operations a child that exits has exported before.
const childOps = 1000

// recordAsChild records operations to path: until it is killed, or childOps of
// them and then leaves without a Shutdown.
func recordAsChild(path, end string) (code int) {
	exp, err := optrace.NewFileExporter(path)
	if err != nil {
		return 1
	}
	proc, err := optrace.NewProcessor(exp, optrace.WithFlushInterval(time.Millisecond))
	if err != nil {
		return 1
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	tracer := optrace.NewTracer(tp)
	ctx, request := tp.Tracer("child").Start(context.Background(), "request")
	for i := 0; end == endByKill || i < childOps; i++ {
		_, o := tracer.Start(optrace.ContextWithStep(ctx, int64(i)), "matmul", "cuda:0")
		o.In(64, 784).In(784, 256).Out(64, 256).End()
	}
	request.End()
	if err := proc.ForceFlush(context.Background()); err != nil {
		return 1
	}
	return 0
}

func startChild(t *testing.T, path, end string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), recordingChildFile+"="+path, recordingChildEnd+"="+end)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// A process that is killed at a random moment, again and again, appending to
// one file: all whole lines are readable, a write that was cut off shows as one
// torn line at most, which the next process ends, and no batch is missing.
func TestKilledProcess(t *testing.T) {
	rounds := cases.Count(t, 5, 25)
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	torn := 0
	for round := range rounds {
		killChild(t, path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if text[len(text)-1] != '\n' {
			torn++
		}
		rec := spantest.Read(t, text)
		if len(rec.Malformed) > torn {
			t.Fatalf("after %d kills, %d of them within a line, %d lines cannot be read: %v",
				round+1, torn, len(rec.Malformed), rec.Malformed)
		}
		rec.CheckBatches(t, true)
	}
	exp, err := optrace.NewFileExporter(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := exp.ExportSpans(t.Context(), spantest.Operations(3)); err != nil {
		t.Fatal(err)
	}
	if err := exp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rec := spantest.Read(t, text)
	if len(rec.Malformed) > torn || !bytes.HasSuffix(text, []byte("\n")) {
		t.Errorf("after reopening %d lines cannot be read, %d were torn", len(rec.Malformed), torn)
	}
	checkWriters(t, rec, rounds+1, torn)
	t.Logf("%d kills, %d within a line, %d entries", rounds, torn, len(rec.Entries))
}

// killChild starts a child that records to path, and kills it once it has written.
func killChild(t *testing.T, path string) {
	t.Helper()
	before := size(path)
	cmd := startChild(t, path, endByKill)
	written := func() bool { // not when a torn file has been moved out of the way
		n := size(path)
		return n > 0 && n != before
	}
	for deadline := time.Now().Add(20 * time.Second); !written() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Duration(rand.IntN(30_000)) * time.Microsecond)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the child ended by itself: %v", err)
	}
}

// checkWriters reports an error unless all writers have left batches. A writer
// that was killed in its first write may have left none.
func checkWriters(t *testing.T, rec *spantest.Recording, want, torn int) {
	t.Helper()
	if n := rec.Writers(); n > want || n < want-torn {
		t.Errorf("%d writers have left batches, want %d, or fewer by up to %d torn writes", n, want, torn)
	}
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// A process that leaves without a Shutdown has lost nothing that was flushed.
func TestExitWithoutShutdown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.out")
	if err := startChild(t, path, endByExit).Wait(); err != nil {
		t.Fatalf("the child failed: %v", err)
	}
	rec := spantest.ReadWhole(t, readFile(t, path))
	if len(rec.Entries) != childOps || len(rec.Spans) != 1 {
		t.Errorf("%d entries and %d ancestry records, want %d and 1", len(rec.Entries), len(rec.Spans), childOps)
	}
	rec.CheckBatches(t, false)
}
