package ingest

import (
	"io"
	"io/fs"

	"github.com/optrace/optrace/op/attr"
)

// Options configures an input. The zero value suits most uses.
type Options struct {
	// Mapping maps attribute keys to fields; nil is the conventions.
	Mapping *attr.Mapping
	// Format is the format of all files, one of [FormatNames]; "" detects the format of each file.
	Format string
	// MaxMemory is about the memory limit of the input in bytes. It covers data that readers hold and data reported to
	// [Input.Hold]. Exceeding it ends the input with a *[MemoryError]. 0 is DefaultMaxMemory, a negative number no
	// limit.
	MaxMemory int64
	// FS opens the paths; nil opens files of the operating system. An *os.File, as os.Root.FS returns it, can be read
	// in parts.
	FS fs.FS
	// Stdin is read for the path "-"; nil is os.Stdin.
	Stdin io.Reader
	// Progress is called with the number of stored bytes of each read, and with the negative sum before the input is
	// read again; nil for no calls.
	Progress func(n int)
	// Exclude reports whether to leave out a file found in a directory; nil leaves out no file. It is not called for
	// named files.
	Exclude func(fs.FileInfo) bool

	tail *tail // where the one input is followed
}
