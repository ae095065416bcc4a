package main

import "fmt"

// The exit codes.
const (
	exitOK     = 0
	exitGate   = 1
	exitUsage  = 2
	exitInput  = 3
	exitOutput = 4
)

// exitCodesHelp is the part of the help texts that lists the exit codes.
const exitCodesHelp = `Exit codes:

  0  fine; an input without operations is fine too
  1  the command worked, and a gate that was asked for failed
  2  wrong usage
  3  an input could not be read, or is of no known format; Jaeger does not answer
     or does not hold the trace; the command was interrupted
  4  the output could not be written
`

// exitError is an error with the exit code that it leads to.
type exitError struct {
	code int
	err  error
}

// Error returns the message of the error.
func (e *exitError) Error() string { return e.err.Error() }

// Unwrap returns the error.
func (e *exitError) Unwrap() error { return e.err }

// usagef returns an error in the command line.
func usagef(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// inputError marks err as an error of the input.
func inputError(err error) error { return &exitError{code: exitInput, err: withAdvice(err)} }

// outputError marks err as an error of the output. nil stays nil.
func outputError(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: exitOutput, err: err}
}
