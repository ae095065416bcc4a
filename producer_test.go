package optrace_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
)

// producer is a process that records operations with steps of their own and
// tells after every flush how many are safe. It is a child process of a test.
type producer struct {
	Path        string
	Format      optrace.Format
	Compression optrace.Compression
	MaxBytes    int64 // of a file
	Run         int64 // distinguishes its steps
	Batch       int   // operations between flushes
	Pause       time.Duration
	For         time.Duration // 0 is until it is killed
}

// producerVariable tells the test binary that it is a producer, and which.
const producerVariable = "OPTRACE_TEST_PRODUCER"

// stepsPerRun is how far the steps of two producers are apart.
const stepsPerRun = 1_000_000_000

// produce is the child's side of a producer. It returns an exit code.
func produce(config string) int {
	var p producer
	if err := json.Unmarshal([]byte(config), &p); err != nil {
		return 2
	}
	if err := p.record(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (p *producer) record() error {
	exp, err := optrace.NewFileExporter(p.Path, optrace.WithFormat(p.Format), optrace.WithCompression(p.Compression),
		optrace.WithRotation(optrace.Rotation{MaxBytes: p.MaxBytes}))
	if err != nil {
		return err
	}
	proc, err := optrace.NewProcessor(exp, optrace.WithPolicy(optrace.PolicyBlock))
	if err != nil {
		return err
	}
	tracer := optrace.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc)))
	end := time.Now().Add(p.For)
	for i := int64(0); p.For == 0 || time.Now().Before(end); {
		for range p.Batch {
			_, o := tracer.Start(optrace.ContextWithStep(context.Background(), p.Run*stepsPerRun+i), "matmul", "cuda:0")
			o.In(64, 784).In(784, 256).Out(64, 256).End()
			i++
		}
		if err := proc.ForceFlush(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		st := proc.Stats()
		fmt.Println(st.Recorded, st.Written, st.Dropped)
		time.Sleep(p.Pause)
	}
	return proc.Shutdown(context.Background())
}

// produced is what a producer has told last.
type produced struct{ recorded, written, dropped int64 }

// start starts p. The function it returns waits until p has ended and returns what
// it told last.
func (p producer) start(t *testing.T) (cmd *exec.Cmd, wait func() produced) {
	t.Helper()
	config, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), producerVariable+"="+string(config))
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, func() (last produced) {
		t.Helper()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var now produced
			if n, _ := fmt.Sscan(lines.Text(), &now.recorded, &now.written, &now.dropped); n == 3 {
				last = now
			}
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 0) {
			t.Errorf("a producer failed: %v\n%s", err, errs.String())
		}
		return last
	}
}

// stepsIn returns how often each step is in the files of a directory, and how many
// records there cannot be read.
func stepsIn(t *testing.T, dir string) (steps map[int64]int, malformed int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	steps = make(map[int64]int)
	for _, e := range entries {
		for rec, err := range ingest.Open(filepath.Join(dir, e.Name())).Records() {
			if err != nil {
				malformed++
			} else if rec.Entry != nil {
				steps[rec.Entry.Step.V]++
			}
		}
	}
	return steps, malformed
}

// checkFlushed checks that all of the first n operations of a run are there.
func checkFlushed(t *testing.T, what string, steps map[int64]int, run, n int64) {
	t.Helper()
	lost := 0
	for i := range n {
		if steps[run*stepsPerRun+i] == 0 {
			lost++
		}
	}
	if lost > 0 || n == 0 {
		t.Errorf("%s: of %d operations of run %d that were flushed %d are lost", what, n, run, lost)
	}
}
