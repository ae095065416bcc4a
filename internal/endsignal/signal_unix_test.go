//go:build unix

package endsignal_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/endsignal"
)

func TestSignals(t *testing.T) {
	want := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	check.Equal(t, "signals", want, endsignal.Signals())
}

// A caller may change the slice that it gets.
func TestSignalsNotShared(t *testing.T) {
	endsignal.Signals()[0] = syscall.SIGHUP
	check.Equal(t, "the first signal: after a caller changed its slice", os.Interrupt, endsignal.Signals()[0])
}
