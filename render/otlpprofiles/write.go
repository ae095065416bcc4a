package otlpprofiles

import (
	"fmt"
	"io"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/render/internal/stacknotes"
)

// Options configures the comments and resources of profiles.
type Options struct {
	stacknotes.Options
	// Producers has the resource attributes of the producers of operations; nil for no attributes.
	Producers *Producers
}

// Write writes a table as one protobuf message. It is also the body of an export request.
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
