package otlpprofiles

import (
	"fmt"
	"io"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/render/internal/stacknotes"
)

// Options says what the profiles tell about themselves.
type Options struct {
	stacknotes.Options
	// Producers tells the attributes of the resources that the operations come from; nil for
	// none.
	Producers *Producers
}

// Write writes a table as one message of protobuf, which is also the body of a request
// that exports it.
func Write(w io.Writer, t *stacks.Table, opts Options) error {
	if _, err := w.Write(build(t, opts).AppendProto(nil)); err != nil {
		return fmt.Errorf("writing OTLP profiles: %w", err)
	}
	return nil
}

// WriteJSON writes a table as one line of OTLP's JSON.
func WriteJSON(w io.Writer, t *stacks.Table, opts Options) error {
	if _, err := w.Write(append(build(t, opts).AppendJSON(nil), '\n')); err != nil {
		return fmt.Errorf("writing OTLP profiles: %w", err)
	}
	return nil
}
