//go:build unix

package optrace_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/spantest"
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
		path := filepath.Join(t.TempDir(), "ops.jsonl")
		err := endChild(t, sig, setupChildFile+"="+path, "OPTRACE_FLUSH_INTERVAL=1h")
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != sig {
			t.Errorf("the child ended with %v, want by %v", err, sig)
		}
		if names := operationsIn(t, readFile(t, path)); len(names) != 100 {
			t.Errorf("%d operations in the file, want 100", len(names))
		}
	}
}

// endChild runs a test in a child process, and sends it a signal when it has recorded. It returns how the child ended.
func endChild(t *testing.T, sig syscall.Signal, env ...string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), env...)
	out := check.Must(cmd.StdoutPipe())(t)
	check.OK(t, cmd.Start())
	check.Must(bufio.NewReader(out).ReadString('\n'))(t)
	check.OK(t, cmd.Process.Signal(sig))
	return cmd.Wait()
}

func recordUntilSignal(t *testing.T, path string) {
	t.Helper()
	setup(t, path, optrace.WithSignals())
	record(t.Context(), otel.GetTracerProvider(), 100)
	fmt.Println("recorded")
	time.Sleep(time.Minute) // the signal comes before
}

// gracefulChildFile is setupChildFile for a program that handles the signal, and
// gracefulChildFirst says that it did so before Setup.
const (
	gracefulChildFile  = "OPTRACE_TEST_GRACEFUL_CHILD"
	gracefulChildFirst = "OPTRACE_TEST_GRACEFUL_CHILD_FIRST"
)

// A program that handles the signal, and lets a second one end it, ends in its own
// time.
func TestW9SetupLeavesTheEndToTheProgram(t *testing.T) {
	if path := os.Getenv(gracefulChildFile); path != "" {
		endGracefully(t, path, os.Getenv(gracefulChildFirst) != "")
		return
	}
	for _, first := range []string{"", "1"} {
		for range cases.Count(t, 2, 5) {
			path := filepath.Join(t.TempDir(), "ops.jsonl")
			if err := endChild(t, syscall.SIGTERM, gracefulChildFile+"="+path, gracefulChildFirst+"="+first); err != nil {
				t.Errorf("the program was cut short: %v", err)
			}
			if names := operationsIn(t, readFile(t, path)); len(names) != 101 {
				t.Errorf("%d operations in the file, want 101", len(names))
			}
		}
	}
}

func endGracefully(t *testing.T, path string, first bool) {
	t.Helper()
	var ctx context.Context
	var stop func()
	handle := func() { ctx, stop = signal.NotifyContext(context.Background(), syscall.SIGTERM) }
	if first {
		handle()
	}
	sdk := setup(t, path)
	if !first {
		handle()
	}
	record(t.Context(), sdk.TracerProvider(), 100)
	fmt.Println("recorded")
	<-ctx.Done()
	stop()
	time.Sleep(100 * time.Millisecond) // what such programs do at the end
	run(context.Background(), sdk.Tracer(), "last")
	shutdown(t, sdk)
}

func TestFlightRecorderSignal(t *testing.T) {
	f := newFlight(t, 8, optrace.WithDumpOnSignal(syscall.SIGUSR1))
	f.request(t.Context(), 1, nil)
	check.OK(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	for range 1000 { // it arrives when it arrives
		if f.out.Writes() > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	rec := spantest.ReadWhole(t, f.out.Bytes())
	check.Equal(t, "operations and spans", [2]int{1, 1}, [2]int{len(rec.Entries), len(rec.Spans)})
	shutdown(t, f.proc)
}
