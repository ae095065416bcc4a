package flags

import (
	"flag"
	"os"
	"runtime/debug"

	"github.com/optrace/optrace/internal/units"
)

// MemoryUsage is the part of the help texts that describes the flag.
const MemoryUsage = `  -max-memory N     about how much memory an input may take: 512M, 4G or a number of
                    bytes; 0 is no bound (1G). What needs more is an error
`

// MemorySize is the value of -max-memory, in bytes; 0 is no bound.
type MemorySize int64

var _ flag.Value = (*MemorySize)(nil)

// String implements [flag.Value].
func (m *MemorySize) String() string { return units.Bytes(int64(*m)) }

// Set implements [flag.Value].
func (m *MemorySize) Set(text string) error {
	n, err := units.ParseBytes(text)
	*m = MemorySize(n)
	return err
}

// Option returns the size as an [ingest.Options] has it.
func (m MemorySize) Option() int64 {
	if m == 0 {
		return -1
	}
	return int64(m)
}

// LimitHeap makes the garbage collector keep the process near the bound, unless the
// environment says otherwise: buffers, and what is garbage, come on top of what is held.
func (m MemorySize) LimitHeap() {
	if _, set := os.LookupEnv("GOMEMLIMIT"); !set && m > 0 {
		debug.SetMemoryLimit(int64(m) + int64(m)/4)
	}
}
