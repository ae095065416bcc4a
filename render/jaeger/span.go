package jaeger

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/spanattr"
)

// span is a span in Jaeger's JSON. Times are in microseconds.
type span struct {
	TraceID    op.TraceID  `json:"traceID"`
	SpanID     op.SpanID   `json:"spanID"`
	Flags      int         `json:"flags"`
	Name       string      `json:"operationName"`
	References []reference `json:"references"`
	StartTime  int64       `json:"startTime"`
	Duration   int64       `json:"duration"`
	Tags       []tag       `json:"tags"`
	Logs       []log       `json:"logs"`
	ProcessID  string      `json:"processID"`
	Warnings   []string    `json:"warnings"`
}

// reference leads to the parent of a span or to a linked span.
type reference struct {
	RefType string     `json:"refType"`
	TraceID op.TraceID `json:"traceID"`
	SpanID  op.SpanID  `json:"spanID"`
}

type process struct {
	ServiceName string `json:"serviceName"`
	Tags        []tag  `json:"tags"`
}

type log struct {
	Timestamp int64 `json:"timestamp"`
	Fields    []tag `json:"fields"`
}

type tag struct {
	Key   string          `json:"key"`
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// reserved are the tags that describe the span itself, with the former tag of the scope.
var reserved = []string{
	attrkey.JaegerError, attrkey.JaegerStatus, attrkey.JaegerDescription, attrkey.JaegerScope, attrkey.JaegerOldScope,
	attrkey.JaegerVersion, attrkey.JaegerKind, attrkey.JaegerTraceState, attrkey.JaegerDropped,
	attrkey.JaegerDroppedLinks,
}

func withoutReserved(attrs []op.Attr) []op.Attr {
	return slices.DeleteFunc(slices.Clone(attrs), func(a op.Attr) bool { return slices.Contains(reserved, a.Key) })
}

const maxExactInt = 1<<53 - 1 // the largest integer that JavaScript distinguishes from its neighbours

// tagsOf returns attributes with their types. Lists, maps and numbers too large for JavaScript are text.
func tagsOf(attrs []op.Attr) []tag {
	tags := make([]tag, len(attrs))
	for i := range attrs {
		a := &attrs[i]
		tags[i] = tag{a.Key, "string", scalar.AppendString(nil, a.Value)}
		switch a.Type {
		case op.AttrInt:
			if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil {
				tags[i].Type = "int64"
				if -maxExactInt <= n && n <= maxExactInt {
					tags[i].Value = strconv.AppendInt(nil, n, 10)
				}
			}
		case op.AttrFloat:
			if f, err := strconv.ParseFloat(a.Value, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
				tags[i].Type = "float64"
				tags[i].Value = scalar.AppendDouble(nil, f)
			}
		case op.AttrBool:
			if a.Value == "true" || a.Value == "false" {
				tags[i].Type = "bool"
				tags[i].Value = json.RawMessage(a.Value)
			}
		}
	}
	return tags
}

// setReferences refers to the parent and to linked spans, but not to the span itself: the UI would follow it forever.
func (s *span) setReferences(parent op.SpanID, links []op.Link) {
	s.References = []reference{}
	if !parent.IsZero() {
		s.References = append(s.References, reference{"CHILD_OF", s.TraceID, parent})
	}
	for i := range links {
		s.References = append(s.References, reference{"FOLLOWS_FROM", links[i].TraceID, links[i].SpanID})
	}
	s.References = slices.DeleteFunc(s.References, func(r reference) bool {
		return r.TraceID == s.TraceID && r.SpanID == s.SpanID
	})
}

// originOf returns the kind and the scope of a span as tags, as far as they are known.
func originOf(kind string, s *op.Scope) (tags []op.Attr) {
	if kind != "unspecified" {
		tags = opmodel.AppendText(tags, attrkey.JaegerKind, kind)
	}
	tags = opmodel.AppendText(tags, attrkey.JaegerScope, s.Name)
	return opmodel.AppendText(tags, attrkey.JaegerVersion, s.Version)
}

// appendStatus appends the tags of a failed span, and of a span with dropped links.
func appendStatus(tags []op.Attr, lostLinks int64, failed bool, message string) []op.Attr {
	tags = spanattr.AppendCount(tags, attrkey.JaegerDroppedLinks, lostLinks)
	if !failed {
		return tags
	}
	tags = append(tags, op.Attr{Key: attrkey.JaegerError, Value: "true", Type: op.AttrBool})
	tags = opmodel.AppendText(tags, attrkey.JaegerStatus, "ERROR")
	return opmodel.AppendText(tags, attrkey.JaegerDescription, message)
}
