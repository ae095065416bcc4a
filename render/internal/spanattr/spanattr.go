// Package spanattr is shared by the writers of spans and of timelines: names of operations' spans, placeholder ids, the
// trace state of sampled spans, and counts among attributes.
package spanattr

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// Name returns the name of the span of an operation.
func Name(e *op.Entry) string {
	if e.Extra != nil && e.Extra.Name != "" {
		return e.Extra.Name
	}
	return e.Operation
}

// Placeholders generates ids for operations without ids. Formats that identify spans by id would take all such
// operations for one. The zero value is ready to use.
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

// TraceState returns the trace state of a span that represents count spans: the rejection threshold T = 2^56 -
// 2^56/count, in hexadecimal without trailing zeros; "" below 1.
func TraceState(count float64) string {
	if !(count >= 1) {
		return ""
	}
	const denominator = 1 << 56
	kept := max(1, uint64(math.Round(denominator/count)))
	text := strconv.FormatUint(2*denominator-kept, 16)[1:] // 14 digits
	if text = strings.TrimRight(text, "0"); text == "" {
		text = "0"
	}
	return "ot=th:" + text
}

// AppendCount appends a number unless it is 0.
func AppendCount(attrs []op.Attr, key string, n int64) []op.Attr {
	return opmodel.AppendInt(attrs, key, op.Int{V: n, Known: n > 0})
}
