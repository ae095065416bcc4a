package sink

import (
	"io"

	"github.com/optrace/optrace/internal/record/rotate"
)

// Target is the destination of a Sink. It is not safe for concurrent use.
type Target interface {
	io.Writer
	// Ready prepares for a write of about n bytes, and describes the file that takes it.
	Ready(n int) (rotate.State, error)
	// Reserve makes room for a write of n bytes.
	Reserve(n int) error
	// Continue reports whether a write can resume at the end of the one before.
	Continue() (bool, error)
	// Release ends the hold of Ready or Continue after the write.
	Release()
	// Close ends the writing.
	Close() error
}

// ToWriter returns a Target that writes to w. It does not close w.
func ToWriter(w io.Writer) Target { return writer{w} }

type writer struct{ io.Writer }

func (writer) Ready(int) (rotate.State, error) { return rotate.State{}, nil }
func (writer) Reserve(int) error               { return nil }
func (writer) Continue() (bool, error)         { return true, nil }
func (writer) Release()                        {}
func (writer) Close() error                    { return nil }
