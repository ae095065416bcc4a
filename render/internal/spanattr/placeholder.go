package spanattr

import (
	"encoding/binary"

	"github.com/optrace/optrace/internal/opfile"
	"github.com/optrace/optrace/op"
)

// Placeholders generates ids for operations that have none. Formats that identify
// spans by their ids would take all such operations for one. The zero value is
// ready to use.
type Placeholders struct{ given uint64 }

// IDs returns the ids of an operation, or placeholders if it has neither.
func (p *Placeholders) IDs(e *op.Entry) (op.TraceID, op.SpanID) {
	if !e.TraceID.IsZero() || !e.SpanID.IsZero() {
		return e.TraceID, e.SpanID
	}
	p.given++
	var span op.SpanID
	binary.BigEndian.PutUint64(span[:], p.given)
	return opfile.PlaceholderTraceID(1), span
}
