package ingest

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"github.com/optrace/optrace/internal/text/lineio"
	"github.com/optrace/optrace/internal/text/units"
)

// DefaultMaxMemory is how much memory an input may take by default.
const DefaultMaxMemory = 1 << 30

// MemoryError is the error of an input that would take more memory than [Options].MaxMemory.
type MemoryError struct {
	// Limit is the memory that was allowed, in bytes.
	Limit int64
	// File is the file that was being read, and Read how many bytes of it had been, as they are stored. With several
	// workers that is somewhat behind the place.
	File string
	Read int64
}

var _ error = (*MemoryError)(nil)

// Error says what was allowed and where that did not suffice.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("reading %s: more than %s of memory is needed (after %d bytes of the file)", e.File,
		units.Bytes(e.Limit), e.Read)
}

// memory is the memory that an input takes: what its readers hold, and what whoever reads it says to keep.
type memory struct {
	limit int64
	held  atomic.Int64
	// refused is set once more than the limit was asked for. What asked may go on without what it was refused until its
	// record ends; the input ends then.
	refused atomic.Pointer[MemoryError]

	mu   sync.Mutex
	file string
	read int64
}

func (m *memory) hold(bytes int64) error {
	if m.held.Add(bytes) <= m.limit || bytes <= 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused.CompareAndSwap(nil, &MemoryError{Limit: m.limit, File: m.file, Read: m.read})
	return m.refused.Load()
}

// spare is hold for what can be done without, and reports whether there is so much.
func (m *memory) spare(bytes int64) bool {
	if m.held.Add(bytes) <= m.limit || bytes <= 0 {
		return true
	}
	m.held.Add(-bytes)
	return false
}

// perWorker is about what a goroutine that reads takes beside what it holds: buffers, and texts that it remembers.
const perWorker = 16 << 20

// workers returns how many goroutines of n read an input.
func (m *memory) workers(n int) int {
	return max(1, min(n, int(min(m.limit/perWorker, math.MaxInt32))))
}

// source returns r for readers whose buffers, and what they make of a record, count in the memory, and a function that
// gives back what they took.
func (m *memory) source(r io.Reader) (src io.Reader, free func()) {
	held := int64(0)
	hold := func(bytes int64) error {
		held += bytes
		return m.hold(bytes)
	}
	return &lineio.Held{Reader: r, Hold: hold}, func() { _ = m.hold(-held) }
}

// opened notes the file that is read from now on.
func (m *memory) opened(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.file = path
	m.read = 0
}

// count notes that n bytes of the file were read.
func (m *memory) count(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read += int64(n)
}

// newMemory returns the memory of an input that may take so much, see [Options].
func newMemory(limit int64) *memory {
	if limit < 0 {
		limit = math.MaxInt64
	}
	return &memory{limit: cmp.Or(limit, DefaultMaxMemory)}
}
