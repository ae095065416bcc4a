package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/units"
)

// memoryHelp is the part of the help texts that describes the flag.
const memoryHelp = `  -max-memory N     about how much memory an input may take: 512M, 4G or a number of
                    bytes; 0 is no bound (1G). What needs more is an error
`

// memorySize is the value of -max-memory, in bytes; 0 is no bound.
type memorySize int64

var _ flag.Value = (*memorySize)(nil)

// addMemoryFlag adds -max-memory.
func addMemoryFlag(fs *flag.FlagSet) *memorySize {
	m := memorySize(ingest.DefaultMaxMemory)
	fs.Var(&m, "max-memory", "")
	return &m
}

// String implements [flag.Value].
func (m *memorySize) String() string { return units.Bytes(int64(*m)) }

// Set implements [flag.Value].
func (m *memorySize) Set(text string) error {
	n, err := units.ParseBytes(text)
	*m = memorySize(n)
	return err
}

// option returns the size as an [ingest.Options] has it.
func (m memorySize) option() int64 {
	if m == 0 {
		return -1
	}
	return int64(m)
}

// limitHeap makes the garbage collector keep the process near the bound, unless the
// environment says otherwise: buffers, and what is garbage, come on top of what is held.
func (m memorySize) limitHeap() {
	if _, set := os.LookupEnv("GOMEMLIMIT"); !set && m > 0 {
		debug.SetMemoryLimit(int64(m) + int64(m)/4)
	}
}

// withAdvice adds to an error about memory what can be done.
func withAdvice(err error) error {
	tooMuch, ok := errors.AsType[*ingest.MemoryError](err)
	if !ok {
		return err
	}
	more := "4G"
	if tooMuch.Limit > 1<<30 {
		more = fmt.Sprintf("%dG", 4*(tooMuch.Limit>>30))
	}
	return fmt.Errorf("%w; allow more with -max-memory %s, or ask for sums only: report -section summary", err, more)
}
