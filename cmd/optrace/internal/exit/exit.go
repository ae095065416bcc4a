// Package exit has the exit codes of the command and errors with exit codes. It advises on inputs that need too much
// memory; package input describes other faults of inputs.
package exit

import (
	"errors"
	"fmt"

	"github.com/optrace/optrace/ingest"
)

// The exit codes, as described by usage/exit-codes.txt of the command.
const (
	OK         = 0
	FailedGate = 1
	WrongUsage = 2
	BadInput   = 3
	BadOutput  = 4
)

type codeError struct {
	code int
	error
}

// Unwrap returns the error.
func (e *codeError) Unwrap() error { return e.error }

// Code returns the exit code of an error.
func Code(err error) int {
	var coded *codeError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &coded):
		return coded.code
	}
	return BadInput
}

// Usagef returns an error in the command line.
func Usagef(format string, args ...any) error {
	return &codeError{WrongUsage, fmt.Errorf(format, args...)}
}

// Gatef returns the error of a failed gate.
func Gatef(format string, args ...any) error {
	return &codeError{FailedGate, fmt.Errorf(format, args...)}
}

// Input marks err as an error of the input. It adds advice to an error about memory.
func Input(err error) error {
	if tooMuch, ok := errors.AsType[*ingest.MemoryError](err); ok {
		more := "4G"
		if tooMuch.Limit > 1<<30 {
			more = fmt.Sprintf("%dG", 4*(tooMuch.Limit>>30))
		}
		err = fmt.Errorf("%w; allow more with -max-memory %s, or ask for sums only: report -section summary", err, more)
	}
	return &codeError{BadInput, err}
}

// Output marks err as an error of the output. nil stays nil.
func Output(err error) error {
	if err == nil {
		return nil
	}
	return &codeError{BadOutput, err}
}
