//go:build !unix

package endsignal

import "os"

// Signals returns the signals that end a program and can be handled.
func Signals() []os.Signal { return []os.Signal{os.Interrupt} }

// Raise ends the process as an interrupt does where a process cannot send
// itself a signal.
func Raise(os.Signal) {
	const interrupted = 2
	os.Exit(interrupted)
}
