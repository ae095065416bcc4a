// Package opfile helps readers and writers of files with the types of package op: derived fields, values without a
// column in tables, placeholder trace ids.
package opfile

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// Given tells the derived fields that a source states.
type Given struct{ Rule, Elements, Memory bool }

// Finish derives the unstated fields of an entry, and makes impossible values unknown, with a warning.
func Finish(e *op.Entry, given Given, kinds *opmodel.KindCache) {
	if e.Duration < 0 {
		e.Duration = 0
		e.Warn |= op.WarnNegativeDuration
	}
	if e.Start.V > math.MaxInt64-e.Duration {
		e.Start = op.Int{}
		e.Warn |= op.WarnBadTime
	}
	if e.TraceID.IsZero() && !(e.SpanID.IsZero() && e.ParentSpanID.IsZero()) {
		e.Warn |= op.WarnBadID
	}
	switch {
	case e.Kind == op.KindUnknown && e.Collective != nil:
		e.Kind = op.KindCollective
		e.KindRule = op.RuleAttribute
	case e.Kind == op.KindUnknown:
		e.Kind, e.KindRule = kinds.Infer(e.Operation)
	case !given.Rule:
		e.KindRule = opmodel.UsualRule(e.Kind)
	}
	if !given.Elements {
		n, w := e.OutputShape.Elements()
		e.OutputElements = n
		e.Warn |= w
	}
	if !given.Memory {
		opmodel.SetDerivedMemory(e)
	}
}

// PartialSchema names the format of partial results and its major version.
const PartialSchema = "optrace.profile/v1"

// SameResource reports whether two resources are equal apart from Host, one of their Attrs.
func SameResource(r, o *op.Resource) bool {
	return r.Service == o.Service && r.Rank == o.Rank && r.WorldSize == o.WorldSize && slices.Equal(r.Attrs, o.Attrs)
}

// emptyEntry is the length of an entry's text in front of attributes.
var emptyEntry = len((&op.Entry{}).AppendJSON(nil)) - len("}")

// AppendRest appends the parts of attributes, links and extra without a column in a table of texts, as a JSON object.
// It appends no text if there are no such parts.
func AppendRest(dst []byte, attrs []op.Attr, links []op.Link, x *op.Extra) []byte {
	e := op.Entry{Extra: x}
	for _, a := range attrs {
		if a.Type != op.AttrText {
			e.Attrs = append(e.Attrs, a)
		}
	}
	if slices.ContainsFunc(links, func(l op.Link) bool { return l.Extra != nil || l.Attention.Known }) {
		e.Links = links
	}
	if e.Attrs == nil && e.Links == nil && (x == nil || x.IsZero()) {
		return dst
	}
	start := len(dst)
	dst = e.AppendJSON(dst)
	dst[start+emptyEntry] = '{' // in place of their comma
	return append(dst[:start], dst[start+emptyEntry:]...)
}

// AppendShapes appends the shapes and the element type of the entry, such as "64x784,784x256->64x256:f32": the inputs
// and the output in the form of [op.Shape.String], and the type. It appends no text if all are unknown.
func AppendShapes(dst []byte, e *op.Entry) []byte {
	if e.InputShapes == nil && e.OutputShape == nil && e.DType == "" {
		return dst
	}
	if e.InputShapes == nil {
		dst = append(dst, '?')
	}
	for i, s := range e.InputShapes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.AppendText(dst)
	}
	dst = e.OutputShape.AppendText(append(dst, "->"...))
	if e.DType != "" {
		dst = append(append(dst, ':'), e.DType...)
	}
	return dst
}

const placeholder = "optrace\x00"

// PlaceholderTraceID returns a placeholder for an absent id, for formats that require one. Readers recognise it.
func PlaceholderTraceID(n uint64) (id op.TraceID) {
	copy(id[:], placeholder)
	binary.BigEndian.PutUint64(id[len(placeholder):], n)
	return id
}

// IsPlaceholder reports whether the id is a placeholder.
func IsPlaceholder(id op.TraceID) bool { return string(id[:len(placeholder)]) == placeholder }

const localTrace = "optrace\x01"

// LocalTraceID returns an id for the operations of a profile. Their parents tell how they nest. Such a trace is
// unknown to backends; it is no request, and its operations are not all that happened.
func LocalTraceID(n uint64) (id op.TraceID) {
	copy(id[:], localTrace)
	binary.BigEndian.PutUint64(id[len(localTrace):], n)
	return id
}

// IsLocal reports whether the id is one of LocalTraceID.
func IsLocal(id op.TraceID) bool { return string(id[:len(localTrace)]) == localTrace }

// UnixTime returns base + t in Unix nanoseconds, unknown on overflow.
func UnixTime(base, t int64) op.Int {
	sum := base + t
	if t > 0 && sum < base || t < 0 && sum > base {
		return op.Int{}
	}
	return op.Known(sum)
}
