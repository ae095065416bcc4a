package main

import "fmt"

// The exit codes. 1 is for commands that work and find a gate failed.
const (
	exitOK     = 0
	exitUsage  = 2
	exitInput  = 3
	exitOutput = 4
)

// exitError is an error with the exit code that it leads to.
type exitError struct {
	code int
	err  error
}

// Error returns the message of the error.
func (e *exitError) Error() string { return e.err.Error() }

// Unwrap returns the error.
func (e *exitError) Unwrap() error { return e.err }

// usagef returns an error of how the command was called.
func usagef(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// inputError marks err as one of the input.
func inputError(err error) error { return &exitError{code: exitInput, err: err} }

// outputError marks err as one of the output, nil stays nil.
func outputError(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: exitOutput, err: err}
}
