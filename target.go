package optrace

import "io"

// target is what a sink writes to. It is used by one goroutine at a time.
type target interface {
	io.Writer
	// ready prepares for a write of about n bytes, and tells what that write
	// comes behind.
	ready(n int) (fileState, error)
	// reserve makes room for a write of n bytes.
	reserve(n int) error
	// Close ends the writing.
	Close() error
}

// writerTarget is a writer of the caller's.
type writerTarget struct{ io.Writer }

func (writerTarget) ready(int) (fileState, error) { return sameFile, nil }

func (writerTarget) reserve(int) error { return nil }

// Close leaves the writer to its owner.
func (writerTarget) Close() error { return nil }
