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

// DefaultMaxMemory is the default memory limit of an input, in bytes.
const DefaultMaxMemory = 1 << 30

// MemoryError reports an input that needs more memory than [Options].MaxMemory.
type MemoryError struct {
	// Limit is the memory limit in bytes.
	Limit int64
	// File is the file being read, and Read the number of its stored bytes read so far. With several workers, Read is
	// approximate.
	File string
	Read int64
}

var _ error = (*MemoryError)(nil)

// Error states the limit and the position.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("reading %s: more than %s of memory is needed (after %d bytes of the file)", e.File,
		units.Bytes(e.Limit), e.Read)
}

type memory struct {
	limit int64
	held  atomic.Int64
	// refused is set once a request exceeded the limit. The current record goes on without the refused memory; then the
	// input ends.
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

// spare is hold for optional memory; it reports whether the memory is available.
func (m *memory) spare(bytes int64) bool {
	if m.held.Add(bytes) <= m.limit || bytes <= 0 {
		return true
	}
	m.held.Add(-bytes)
	return false
}

// perWorker is about the memory of a reading goroutine beside what it holds: buffers and interned texts.
const perWorker = 16 << 20

func (m *memory) workers(n int) int {
	return max(1, min(n, int(min(m.limit/perWorker, math.MaxInt32))))
}

// source returns r for readers whose buffers and records count in the memory. free gives the memory back.
func (m *memory) source(r io.Reader) (src io.Reader, free func()) {
	held := int64(0)
	hold := func(bytes int64) error {
		held += bytes
		return m.hold(bytes)
	}
	return &lineio.Held{Reader: r, Hold: hold}, func() { _ = m.hold(-held) }
}

func (m *memory) opened(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.file = path
	m.read = 0
}

func (m *memory) count(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read += int64(n)
}

func newMemory(limit int64) *memory {
	if limit < 0 {
		limit = math.MaxInt64
	}
	return &memory{limit: cmp.Or(limit, DefaultMaxMemory)}
}
