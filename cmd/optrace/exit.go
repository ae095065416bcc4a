package main

import (
	"fmt"
	"strings"
)

// The exit codes.
const (
	exitOK     = 0
	exitGate   = 1
	exitUsage  = 2
	exitInput  = 3
	exitOutput = 4
)

// exitCodes says what the exit codes mean, in lines.
func exitCodes() []struct {
	code    int
	meaning []string
} {
	return []struct {
		code    int
		meaning []string
	}{
		{exitOK, []string{"fine; an input without operations is fine too"}},
		{exitGate, []string{"the command worked, and a gate that was asked for failed"}},
		{exitUsage, []string{"wrong usage"}},
		{exitInput, []string{
			"an input could not be read, or is of no known format, or holds something else",
			"than spans; Jaeger does not answer or does not hold the trace; the command was",
			"interrupted",
		}},
		{exitOutput, []string{"the output could not be written"}},
	}
}

// exitCodesHelp is the part of the help texts that lists the exit codes.
func exitCodesHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n\n")
	for _, c := range exitCodes() {
		fmt.Fprintf(&b, "  %d  %s\n", c.code, strings.Join(c.meaning, "\n     "))
	}
	return b.String()
}

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

// gateError returns the error of a gate that fails.
func gateError(format string, args ...any) error {
	return &exitError{code: exitGate, err: fmt.Errorf(format, args...)}
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
