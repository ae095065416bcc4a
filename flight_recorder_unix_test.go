//go:build unix

package optrace_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/optrace/optrace"
)

func TestFlightRecorderSignal(t *testing.T) {
	f := newFlight(t, 8, optrace.WithDumpOnSignal(syscall.SIGUSR1))
	f.request(t.Context(), 1, nil)
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	// A signal arrives when it arrives.
	for range 1000 {
		if names, _ := f.written(t); len(names) == 2 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if names, _ := f.written(t); len(names) != 2 {
		t.Errorf("after the signal: %v", names)
	}
	if err := f.tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}
