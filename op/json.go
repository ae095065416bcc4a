package op

import (
	"strconv"

	"github.com/optrace/optrace/internal/model/unmarshal"
	"github.com/optrace/optrace/internal/text/scalar"
)

// AppendJSON appends the entry as one JSON object, without a newline: all keys of the seed format, then known others.
func (e *Entry) AppendJSON(dst []byte) []byte {
	dst = e.Step.append(append(dst, `{"step":`...))
	dst = scalar.AppendString(append(dst, `,"operation":`...), e.Operation)
	dst = append(dst, `,"device_id":`...)
	if e.HasDevice() {
		dst = scalar.AppendString(dst, e.DeviceID)
	} else {
		dst = append(dst, "null"...)
	}
	dst = AppendShapesJSON(append(dst, `,"input_shapes":`...), e.InputShapes)
	dst = e.OutputShape.AppendJSON(append(dst, `,"output_shape":`...))
	dst = scalar.AppendMicros(append(dst, `,"duration_us":`...), e.Duration)
	dst = e.OutputElements.append(append(dst, `,"output_elements":`...))
	dst = e.MemoryBytes.append(append(dst, `,"memory_bytes":`...))

	dst = appendText(dst, `,"kind":`, e.Kind.String())
	if e.Kind == KindCollective && e.KindRule != RuleAttribute {
		dst = appendText(dst, `,"kind_rule":`, e.KindRule.String())
	}
	dst = appendText(dst, `,"dtype":`, string(e.DType))
	dst = appendKnown(dst, `,"start_unix_ns":`, e.Start)
	dst = strconv.AppendInt(append(dst, `,"duration_ns":`...), e.Duration, 10)
	dst = appendKnown(dst, `,"launch_unix_ns":`, e.Launch)
	dst = appendKnown(dst, `,"stream":`, e.Stream)
	dst = appendKnown(dst, `,"rank":`, e.Rank)
	dst = appendKnown(dst, `,"flops":`, e.FLOPs)
	dst = appendIDs(dst, e.TraceID, e.SpanID, e.ParentSpanID)
	dst = appendText(dst, `,"root":`, e.Root)
	if !e.RootSpanID.IsZero() {
		dst = appendID(dst, `,"root_span_id":"`, e.RootSpanID[:])
	}
	dst = appendText(dst, `,"service":`, e.Service)
	dst = appendText(dst, `,"scope":`, e.Scope)
	dst = appendText(dst, `,"path":`, e.Path)
	if e.InputDTypes != nil {
		dst = scalar.AppendStrings(append(dst, `,"input_dtypes":`...), e.InputDTypes)
	}
	dst = appendText(dst, `,"side":`, e.Side.String())
	if e.Failed {
		dst = scalar.AppendString(append(dst, `,"error":`...), e.Error)
	}
	if e.AdjustedCount != 0 {
		dst = scalar.AppendFloat(append(dst, `,"adjusted_count":`...), e.AdjustedCount)
	}
	dst = appendNumber(dst, `,"dropped_attributes":`, e.DroppedAttributes)
	dst = appendAttrs(dst, `,"attrs":`, e.Attrs)
	dst = appendLinks(dst, e.Links)
	dst = appendExtra(dst, e.Extra)
	if warn := e.Warn & (warnEnd - 1); warn != 0 {
		dst = append(dst, `,"warn":[`...)
		for w := range warn.All() {
			dst = append(dst, '"')
			dst = append(dst, w.String()...)
			dst = append(dst, '"', ',')
		}
		dst[len(dst)-1] = ']'
	}
	if e.Collective != nil {
		dst = e.Collective.appendJSON(append(dst, `,"collective":`...))
	}
	dst = appendText(dst, `,"launched_by":`, e.LaunchedBy)
	if !e.LaunchSpanID.IsZero() {
		dst = appendID(dst, `,"launch_span_id":"`, e.LaunchSpanID[:])
	}
	dst = appendText(dst, `,"step_name":`, e.StepName)
	dst = appendText(dst, `,"phase":`, e.Phase)
	return append(dst, '}')
}

// MarshalJSON returns the text of AppendJSON.
func (e *Entry) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// UnmarshalJSON reads the form of [Entry.MarshalJSON]. The program must import package op/entries.
func (e *Entry) UnmarshalJSON(text []byte) error { return unmarshal.Entry(e, text) }

func (c *Collective) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	start := len(dst)
	dst = appendText(dst, `,"name":`, c.Name)
	dst = appendText(dst, `,"group":`, c.Group)
	dst = appendKnown(dst, `,"group_size":`, c.GroupSize)
	dst = appendKnown(dst, `,"sequence":`, c.Sequence)
	dst = appendKnown(dst, `,"peer_rank":`, c.PeerRank)
	dst = appendKnown(dst, `,"in_elements":`, c.InElements)
	dst = appendKnown(dst, `,"out_elements":`, c.OutElements)
	return append(trimComma(dst, start), '}')
}

// AppendJSON appends the span as an ancestry record, without a newline.
func (s *Span) AppendJSON(dst []byte) []byte {
	dst = scalar.AppendString(append(dst, `{"span":{"name":`...), s.Name)
	dst = appendIDs(dst, s.TraceID, s.SpanID, s.ParentSpanID)
	if s.RemoteParent {
		dst = append(dst, `,"parent_remote":true`...)
	}
	dst = appendKnown(dst, `,"start_unix_ns":`, s.Start)
	dst = strconv.AppendInt(append(dst, `,"duration_ns":`...), s.Duration, 10)
	dst = appendText(dst, `,"service":`, s.Service)
	if s.Failed {
		dst = append(dst, `,"failed":true`...)
	}
	dst = appendAttrs(dst, `,"attrs":`, s.Attrs)
	dst = appendLinks(dst, s.Links)
	dst = appendExtra(dst, s.Extra)
	return append(dst, '}', '}')
}

// AppendCallJSON appends the entry of a [Record.Call] as a call record, without a newline.
func (e *Entry) AppendCallJSON(dst []byte) []byte {
	dst = scalar.AppendString(append(dst, `{"call":{"operation":`...), e.Operation)
	if e.HasDevice() {
		dst = scalar.AppendString(append(dst, `,"device_id":`...), e.DeviceID)
	}
	dst = appendKnown(dst, `,"start_unix_ns":`, e.Start)
	dst = strconv.AppendInt(append(dst, `,"duration_ns":`...), e.Duration, 10)
	dst = appendKnown(dst, `,"stream":`, e.Stream)
	dst = appendKnown(dst, `,"rank":`, e.Rank)
	dst = appendIDs(dst, e.TraceID, e.SpanID, e.ParentSpanID)
	dst = appendText(dst, `,"service":`, e.Service)
	dst = appendAttrs(dst, `,"attrs":`, e.Attrs)
	return append(dst, '}', '}')
}

// AppendHeader appends a header record for records from r, which may be nil, without a newline.
func AppendHeader(dst []byte, r *Resource) []byte {
	dst = append(dst, `{"schema":"`+Schema+`"`...)
	if r != nil {
		dst = append(dst, `,"resource":{`...)
		start := len(dst)
		dst = appendText(dst, `,"service":`, r.Service)
		dst = appendKnown(dst, `,"rank":`, r.Rank)
		dst = appendKnown(dst, `,"world_size":`, r.WorldSize)
		dst = appendAttrs(dst, `,"attrs":`, r.Attrs)
		dst = append(trimComma(dst, start), '}')
	}
	return append(dst, '}')
}

// AppendJSON appends the gap record, without a newline.
func (g *Gap) AppendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"gap":{"dropped":`...), g.Dropped, 10)
	dst = appendText(dst, `,"reason":`, g.Reason)
	return append(dst, '}', '}')
}

// AppendJSON appends the batch record, without a newline.
func (b *Batch) AppendJSON(dst []byte) []byte {
	dst = scalar.AppendString(append(dst, `{"batch":{"writer":`...), b.Writer)
	dst = strconv.AppendInt(append(dst, `,"seq":`...), b.Sequence, 10)
	dst = strconv.AppendInt(append(dst, `,"entries":`...), b.Entries, 10)
	return append(dst, '}', '}')
}

// AppendShapesJSON appends a list of shapes as JSON, null for nil.
func AppendShapesJSON(dst []byte, shapes []Shape) []byte {
	if shapes == nil {
		return append(dst, "null"...)
	}
	return scalar.AppendList(dst, shapes, func(dst []byte, s Shape) []byte { return s.AppendJSON(dst) })
}

func appendIDs(dst []byte, trace TraceID, span, parent SpanID) []byte {
	if !trace.IsZero() {
		dst = appendID(dst, `,"trace_id":"`, trace[:])
	}
	if !span.IsZero() {
		dst = appendID(dst, `,"span_id":"`, span[:])
	}
	if !parent.IsZero() {
		dst = appendID(dst, `,"parent_span_id":"`, parent[:])
	}
	return dst
}

func appendID(dst []byte, key string, id []byte) []byte {
	return append(scalar.AppendHex(append(dst, key...), id), '"')
}

func appendText(dst []byte, key, v string) []byte {
	if v == "" {
		return dst
	}
	return scalar.AppendString(append(dst, key...), v)
}

func appendKnown(dst []byte, key string, v Int) []byte {
	if !v.Known {
		return dst
	}
	return strconv.AppendInt(append(dst, key...), v.V, 10)
}

func appendAttrs(dst []byte, key string, attrs []Attr) []byte {
	if len(attrs) == 0 {
		return dst
	}
	dst = append(append(dst, key...), '{')
	for i := range attrs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(scalar.AppendString(dst, attrs[i].Key), ':')
		dst = attrs[i].AppendJSONValue(dst)
	}
	return append(dst, '}')
}

// trimComma removes the comma at start, in front of an object's first member. All members are appended with one.
func trimComma(dst []byte, start int) []byte {
	if len(dst) == start {
		return dst
	}
	return append(dst[:start], dst[start+1:]...)
}
