//go:build unix

package endsignal

import (
	"os"
	"syscall"
)

// Signals returns the signals that end a program and can be handled.
func Signals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// Raise sends this process a signal that it has just handled.
func Raise(s os.Signal) {
	if n, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(os.Getpid(), n) // there is nothing to do if it fails
	}
}
