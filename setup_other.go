//go:build !unix

package optrace

import "os"

// endSignals are the signals that end a program and can be handled.
func endSignals() []os.Signal { return []os.Signal{os.Interrupt} }

// raise ends the process as an interrupt does where a process cannot send
// itself a signal.
func raise(os.Signal) {
	const interrupted = 2
	os.Exit(interrupted)
}
