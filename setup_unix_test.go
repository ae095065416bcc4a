//go:build unix

package optrace_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/optrace/optrace"
)

// setupChildFile names the file that the test binary, run as a child, records
// into until a signal ends it.
const setupChildFile = "OPTRACE_TEST_SETUP_CHILD"

func TestSetupSignal(t *testing.T) {
	if path := os.Getenv(setupChildFile); path != "" {
		recordUntilSignal(t, path)
		return
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ops.jsonl")
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSetupSignal$")
			cmd.Env = append(os.Environ(), setupChildFile+"="+path, "OPTRACE_FLUSH_INTERVAL=1h")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it has recorded
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			err = cmd.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != sig {
				t.Errorf("the child ended with %v, want by %v", err, sig)
			}
			if names, _ := readOps(t, path); len(names) != 100 {
				t.Errorf("%d operations in the file, want 100", len(names))
			}
		})
	}
}

func recordUntilSignal(t *testing.T, path string) {
	t.Helper()
	if _, err := optrace.Setup(path); err != nil {
		t.Fatal(err)
	}
	tr := optrace.NewTracer(otel.GetTracerProvider())
	for range 100 {
		_, o := tr.Start(t.Context(), "matmul", "cuda:0")
		o.End()
	}
	fmt.Println("recorded")
	time.Sleep(time.Minute) // the signal comes before
}
