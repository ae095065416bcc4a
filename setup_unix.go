//go:build unix

package optrace

import (
	"os"
	"syscall"
)

// endSignals are the signals that end a program and can be handled.
func endSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// raise sends this process a signal that it has just handled.
func raise(s os.Signal) {
	if n, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(os.Getpid(), n) // nothing is left to do if it fails
	}
}
