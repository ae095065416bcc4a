//go:build unix

package endsignal_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/endsignal"
)

func TestSignals(t *testing.T) {
	want := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if diff := cmp.Diff(want, endsignal.Signals()); diff != "" {
		t.Errorf("signals (-want +got):\n%s", diff)
	}
}

// A caller may change the slice that it gets.
func TestSignalsNotShared(t *testing.T) {
	endsignal.Signals()[0] = syscall.SIGHUP
	if got := endsignal.Signals()[0]; got != os.Interrupt {
		t.Errorf("the first signal is %v after a caller changed its slice", got)
	}
}
