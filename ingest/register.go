package ingest

import (
	"io"
	"iter"
	"math"
	"slices"

	"github.com/optrace/optrace/op"
)

// Tables reads a format that takes modules which most programs do without. The package that holds it registers it when
// it is imported.
type Tables struct {
	// Records reads a file from front to back.
	Records func(src io.Reader, name string, m Memory) iter.Seq2[op.Record, error]
	// RecordsAt reads a file of size bytes.
	RecordsAt func(src io.ReaderAt, size int64, name string, m Memory) iter.Seq2[op.Record, error]
	// Parts returns the records of a file in parts of at least partBytes, which several goroutines may read; nil where
	// files are read as a whole.
	Parts func(src io.ReaderAt, size int64, name string, partBytes int) ([]iter.Seq2[op.Record, error], error)
}

// Memory is what reading a file may take.
type Memory struct {
	// Hold notes that so many bytes more are held, or less for a negative number. An error that it returns ends the
	// reading.
	Hold func(bytes int64) error
	// SpoolBytes is how much of a file that is read from front to back may be copied to a temporary one.
	SpoolBytes int64
}

// tableMemory returns what reading a table may take.
func (o *readerOptions) tableMemory() Memory {
	most := int64(math.MaxInt64)
	if o.memory < math.MaxInt64/spoolPerMemory {
		most = o.memory * spoolPerMemory
	}
	return Memory{Hold: o.hold, SpoolBytes: most}
}

// spoolPerMemory is how many bytes of a file that cannot be read anywhere may be copied to a temporary one for each
// byte of memory.
const spoolPerMemory = 4

// Register says how files of a format of [Formats] are read. It is called from init functions, and panics if there is
// no format of this name that is read by a package of its own.
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
