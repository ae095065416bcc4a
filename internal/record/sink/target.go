package sink

import (
	"io"

	"github.com/optrace/optrace/internal/record/rotate"
)

// Target is what a Sink writes to. It is used by one goroutine at a time.
type Target interface {
	io.Writer
	// Ready prepares for a write of about n bytes, and says which file takes it.
	Ready(n int) (rotate.State, error)
	// Reserve makes room for a write of n bytes.
	Reserve(n int) error
	// Continue reports whether a write can go on where the one before ended.
	Continue() (bool, error)
	// Release ends what Ready or Continue began, after the write.
	Release()
	// Close ends the writing.
	Close() error
}

// ToWriter returns a Target that writes to w and does not close it.
func ToWriter(w io.Writer) Target { return writer{w} }

type writer struct{ io.Writer }

func (writer) Ready(int) (rotate.State, error) { return rotate.State{}, nil }
func (writer) Reserve(int) error               { return nil }
func (writer) Continue() (bool, error)         { return true, nil }
func (writer) Release()                        {}
func (writer) Close() error                    { return nil }
