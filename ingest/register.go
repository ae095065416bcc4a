package ingest

import (
	"io"
	"iter"
	"math"
	"slices"

	"github.com/optrace/optrace/op"
)

// Tables reads a format that needs large dependencies. Its package registers it when it is imported.
type Tables struct {
	// Records reads a file sequentially.
	Records func(src io.Reader, name string, m Memory) iter.Seq2[op.Record, error]
	// RecordsAt reads a file of size bytes.
	RecordsAt func(src io.ReaderAt, size int64, name string, m Memory) iter.Seq2[op.Record, error]
	// Parts returns the records of a file in parts of at least partBytes, for several goroutines; nil reads files
	// whole.
	Parts func(src io.ReaderAt, size int64, name string, partBytes int) ([]iter.Seq2[op.Record, error], error)
}

// Memory bounds the memory of reading a file.
type Memory struct {
	// Hold reports that bytes more are held, or fewer for a negative number. An error ends the reading.
	Hold func(bytes int64) error
	// SpoolBytes is how much of a sequential file may be copied to a temporary file.
	SpoolBytes int64
}

// tableMemory returns the memory bounds for reading a table.
func (o *readerOptions) tableMemory() Memory {
	most := int64(math.MaxInt64)
	if o.memory < math.MaxInt64/spoolPerMemory {
		most = o.memory * spoolPerMemory
	}
	return Memory{Hold: o.hold, SpoolBytes: most}
}

// spoolPerMemory is the size of a temporary copy per byte of memory.
const spoolPerMemory = 4

// Register sets the reader of a format. Call it from an init function. It panics if [Formats] has no such format or the
// format has a built-in reader.
func Register(format string, t Tables) {
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == format && f.registers })
	if i < 0 {
		panic("ingest: no format " + format + " to be registered")
	}
	f := &formats[i]
	f.open = func(o readerOptions) readFunc {
		return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
			return t.Records(src, at.name, o.tableMemory())
		}
	}
	f.recordsAt = func(o readerOptions, src io.ReaderAt, size int64, name string) iter.Seq2[op.Record, error] {
		return t.RecordsAt(src, size, name, o.tableMemory())
	}
	f.partsAt = t.Parts
}
