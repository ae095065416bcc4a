//go:build unix

package optrace_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

// A signal ends the program after its operations are written.
func TestSetupSignal(t *testing.T) {
	if path := os.Getenv(childVariable); path != "" {
		setup(t, path, optrace.WithSignals(), optrace.WithProcessorOptions(optrace.WithFlushInterval(time.Hour)))
		record(t.Context(), otel.GetTracerProvider(), 100)
		fmt.Println("recorded")
		time.Sleep(time.Minute) // the signal comes first
		return
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		path := filepath.Join(t.TempDir(), "ops.jsonl")
		check.Equal(t, "the child ended with", syscall.WaitStatus(sig), endChild(t, sig, path))
		check.Equal(t, "operations in the file", 100, len(operationsIn(t, readFile(t, path))))
	}
}

// endChild runs a test in a child process and sends it a signal after its recording. It returns the child's status.
func endChild(t *testing.T, sig syscall.Signal, what string) syscall.WaitStatus {
	t.Helper()
	cmd := child(t, what)
	out := check.Must(cmd.StdoutPipe())(t)
	check.OK(t, cmd.Start())
	check.Must(bufio.NewReader(out).ReadString('\n'))(t)
	check.OK(t, cmd.Process.Signal(sig))
	_ = cmd.Wait() // the status is enough
	return cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// A program with its own signal handler, set before or after Setup, ends in its own time. Row W9 of
// docs/reliability.md.
func TestSetupLeavesTheEndToTheProgram(t *testing.T) {
	if when, path, isChild := strings.Cut(os.Getenv(childVariable), ":"); isChild {
		endGracefully(t, path, when == "before")
		return
	}
	for _, when := range []string{"before", "behind"} {
		for range cases.Count(t, 2, 5) {
			path := filepath.Join(t.TempDir(), "ops.jsonl")
			check.Equal(t, "the program ended with", 0, endChild(t, syscall.SIGTERM, when+":"+path))
			check.Equal(t, "operations in the file", 101, len(operationsIn(t, readFile(t, path))))
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
	time.Sleep(100 * time.Millisecond) // work at the end of such programs
	run(context.Background(), sdk.Tracer(), "last")
	shutdown(t, sdk)
}

func TestFlightRecorderSignal(t *testing.T) {
	f := newFlight(t, 8, optrace.WithDumpOnSignal(syscall.SIGUSR1))
	f.request(t.Context(), 1, nil)
	check.OK(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	for range 1000 { // signals are asynchronous
		if f.out.Writes() > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	rec := spantest.ReadWhole(t, f.out.Bytes())
	check.Equal(t, "operations and spans", [2]int{1, 1}, [2]int{len(rec.Entries), len(rec.Spans)})
	shutdown(t, f.proc)
}

// Without a reader of standard output Go ends a writing program, unless it handles the signal. Then the write is an
// ordinary error. Row E4 of docs/faults.md.
func TestStdoutWithoutReader(t *testing.T) {
	if kind := os.Getenv(childVariable); kind != "" {
		if kind == "ignores" {
			signal.Ignore(syscall.SIGPIPE)
		}
		exp := newExporter(t, os.Stdout)
		err := exp.ExportSpans(t.Context(), spantest.Operations(3))
		if st := exp.Stats(); !errors.Is(err, syscall.EPIPE) || st.Dropped != 3 {
			t.Errorf("ExportSpans returns %v, stats %+v", err, st)
			os.Exit(1)
		}
		os.Exit(0) // the test runner would write to standard output
	}
	for kind, want := range map[string]syscall.WaitStatus{"ignores": 0,
		"default": syscall.WaitStatus(syscall.SIGPIPE)} {
		reader, writer, err := os.Pipe()
		check.OK(t, err)
		check.OK(t, reader.Close())
		cmd := child(t, kind)
		cmd.Stdout = writer
		check.OK(t, cmd.Start())
		_ = cmd.Wait() // the status is enough
		check.Equal(t, kind+": the process ended with", want, cmd.ProcessState.Sys().(syscall.WaitStatus))
		check.OK(t, writer.Close())
	}
}
