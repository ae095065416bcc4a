package optraceexporter

import (
	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/internal/span"
	"github.com/optrace/optrace/op"
)

// maxText is how much text a record has at most: JSON takes up to six times as much, and
// the rest of an entry is bounded.
const maxText = encoding.MaxRecordBytes / 8

// shorten cuts the texts of an entry that is too large to be read again, and leaves its
// attributes out. It reports whether that was so.
func shorten(e *op.Entry) bool {
	if textBytes(e) <= maxText {
		return false
	}
	for _, t := range []*string{&e.Operation, &e.DeviceID, &e.Service, &e.Scope, &e.Path, &e.Root, &e.Error} {
		*t = span.CutText(*t)
	}
	if c := e.Collective; c != nil {
		c.Name, c.Group = span.CutText(c.Name), span.CutText(c.Group)
	}
	e.DType, e.InputDTypes = op.DType(span.CutText(string(e.DType))), nil
	e.DroppedAttributes += int64(1 + len(e.Attrs))
	e.Attrs, e.Warn = nil, e.Warn|op.WarnDroppedAttributes
	return true
}

func textBytes(e *op.Entry) int {
	n := attrBytes(e.Attrs) + len(e.Operation) + len(e.DeviceID) + len(e.Service) + len(e.Scope) + len(e.Path) + len(e.Root) +
		len(e.Error) + len(e.DType)
	if c := e.Collective; c != nil {
		n += len(c.Name) + len(c.Group)
	}
	for _, t := range e.InputDTypes {
		n += len(t)
	}
	return n
}

// shortenSpan is shorten for a span that is no operation.
func shortenSpan(s *op.Span) bool {
	name, service := span.CutText(s.Name), span.CutText(s.Service)
	cut := len(name) < len(s.Name) || len(service) < len(s.Service)
	s.Name, s.Service = name, service
	return cut
}

// shortenResource is shorten for the header of a source.
func shortenResource(r *op.Resource) {
	r.Service, r.Host = span.CutText(r.Service), span.CutText(r.Host)
	if attrBytes(r.Attrs) > maxText {
		r.Attrs = nil
	}
}

func attrBytes(attrs []op.Attr) (n int) {
	for i := range attrs {
		n += len(attrs[i].Key) + len(attrs[i].Value)
	}
	return n
}
