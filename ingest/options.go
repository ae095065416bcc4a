package ingest

import (
	"io"
	"io/fs"

	"github.com/optrace/optrace/op/attr"
)

// Options says how to read. The zero value is right for most uses.
type Options struct {
	// Mapping is the table from attribute keys to fields; nil is the conventions.
	Mapping *attr.Mapping
	// Format is the name of the format of all files, one of [FormatNames]; "" finds the format of each by its content.
	Format string
	// MaxMemory is about how much memory the input may take, in bytes: what readers hold because a format has it in the
	// wrong order, and what whoever reads it says to keep, see [Input.Hold]. What would take more ends with a
	// *[MemoryError]. 0 is DefaultMaxMemory, a negative number no bound.
	MaxMemory int64
	// FS opens the paths; nil opens files of the operating system. Files that are *os.File, such as those of
	// os.Root.FS, are read in parts where their format allows that.
	FS fs.FS
	// Stdin is read for the path "-"; nil means os.Stdin.
	Stdin io.Reader
	// Progress is called with the number of bytes that each read brought from a file, as stored, and with the negative
	// sum before the input is read again; nil for no calls.
	Progress func(n int)
	// Exclude reports whether a file found in a directory is left out; nil leaves out none. It is not called for files
	// that are named.
	Exclude func(fs.FileInfo) bool

	tail *tail // where the one input is followed
}
