package otlp

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// The kind of a span and the code of its status, as OTLP numbers them.
const (
	kindInternal = 1
	statusError  = 2
)

// The flags of a span whose parent lies in another process.
const flagsRemoteParent = 0x301

// appendEntry appends an operation as a span with the given ids.
func (w *Writer) appendEntry(dst []byte, e *op.Entry, trace op.TraceID, span op.SpanID) []byte {
	dst = appendIDs(dst, trace, span, e.ParentSpanID)
	if e.AdjustedCount >= 1 {
		dst = append(dst, `,"traceState":"ot=th:`...)
		dst = append(appendThreshold(dst, e.AdjustedCount), '"')
	}
	dst = jsontext.AppendString(append(dst, `,"name":`...), e.Operation)
	dst = strconv.AppendInt(append(dst, `,"kind":`...), kindInternal, 10)
	dst = appendTimes(dst, e.Start, e.Duration)
	dst = append(dst, `,"attributes":[`...)
	start := len(dst)
	dst = appendString(dst, op.KeyName, e.Operation)
	dst = appendKind(dst, e)
	dst = appendTextAttr(dst, op.KeySide, e.Side.String())
	dst = appendTextAttr(dst, op.KeyPath, e.Path)
	dst = appendTextAttr(dst, op.KeyDevice, e.DeviceID)
	dst = appendIntAttr(dst, op.KeyStream, e.Stream)
	dst = appendIntAttr(dst, op.KeyStep, e.Step)
	if e.Rank != w.source.rank {
		dst = appendIntAttr(dst, op.KeyRank, e.Rank)
	}
	dst = appendTensors(dst, e)
	dst = appendCollective(dst, e.Collective)
	dst = appendNotes(dst, e)
	for _, a := range e.Attrs {
		dst = appendString(dst, a.Key, a.Value)
	}
	dst = append(trimComma(dst, start), ']')
	if e.DroppedAttributes > 0 {
		dst = strconv.AppendInt(append(dst, `,"droppedAttributesCount":`...), min(e.DroppedAttributes, math.MaxUint32), 10)
	}
	return append(appendStatus(dst, e.Failed, e.Error), '}')
}

// appendSpan appends a span that is no operation.
func appendSpan(dst []byte, s *op.Span) []byte {
	dst = appendIDs(dst, s.TraceID, s.SpanID, s.ParentSpanID)
	if s.RemoteParent {
		dst = strconv.AppendInt(append(dst, `,"flags":`...), flagsRemoteParent, 10)
	}
	dst = jsontext.AppendString(append(dst, `,"name":`...), s.Name)
	dst = strconv.AppendInt(append(dst, `,"kind":`...), kindInternal, 10)
	dst = appendTimes(dst, s.Start, s.Duration)
	return append(appendStatus(dst, s.Failed, ""), '}')
}

func appendIDs(dst []byte, trace op.TraceID, span, parent op.SpanID) []byte {
	dst = jsontext.AppendHex(append(dst, `{"traceId":"`...), trace[:])
	dst = jsontext.AppendHex(append(dst, `","spanId":"`...), span[:])
	if !parent.IsZero() && parent != span { // tracing backends go in circles
		dst = jsontext.AppendHex(append(dst, `","parentSpanId":"`...), parent[:])
	}
	return append(dst, '"')
}

// appendTimes appends start and end. A duration without a start runs from 0,
// which readers know as such.
func appendTimes(dst []byte, start op.Int, duration int64) []byte {
	dst = strconv.AppendInt(append(dst, `,"startTimeUnixNano":"`...), start.V, 10)
	dst = strconv.AppendUint(append(dst, `","endTimeUnixNano":"`...), uint64(start.V)+uint64(duration), 10)
	return append(dst, '"')
}

func appendStatus(dst []byte, failed bool, message string) []byte {
	if !failed {
		return dst
	}
	dst = strconv.AppendInt(append(dst, `,"status":{"code":`...), statusError, 10)
	if message != "" {
		dst = jsontext.AppendString(append(dst, `,"message":`...), message)
	}
	return append(dst, '}')
}

// appendThreshold appends the rejection threshold for which a span stands for
// count spans: T = 2^56 (1 - 1/count), in hexadecimal without trailing zeros.
func appendThreshold(dst []byte, count float64) []byte {
	const denominator = 1 << 56
	t := uint64(math.Round(denominator * (1 - 1/count)))
	text := strconv.FormatUint(denominator|min(t, denominator-1), 16)[1:] // 14 digits
	if text = strings.TrimRight(text, "0"); text == "" {
		text = "0"
	}
	return append(dst, text...)
}

// appendKind appends the kind where a reader would find another one.
func appendKind(dst []byte, e *op.Entry) []byte {
	kind, rule := op.InferKind(e.Operation)
	if e.Collective != nil {
		kind, rule = op.KindCollective, op.RuleAttribute
	}
	if e.Kind == kind && e.KindRule == rule || e.Kind == op.KindUnknown {
		return dst
	}
	dst = appendString(dst, op.KeyKind, e.Kind.String())
	if e.KindRule != op.RuleAttribute {
		dst = appendString(dst, op.KeyKindRule, e.KindRule.String())
	}
	return dst
}

// appendTensors appends what is known of inputs and output.
func appendTensors(dst []byte, e *op.Entry) []byte {
	dst = appendInputs(dst, e)
	if e.InputDTypes != nil {
		dst = append(dst, `{"key":"`+op.KeyInputDTypes+`","value":{"arrayValue":{"values":[`...)
		start := len(dst)
		for _, d := range e.InputDTypes {
			dst = append(jsontext.AppendString(append(dst, `,{"stringValue":`...), string(d)), '}')
		}
		dst = append(trimLeadingComma(dst, start), `]}}},`...)
	}
	if e.OutputShape != nil {
		dst = append(dst, `{"key":"`+op.KeyOutputShape+`","value":`...)
		dst = append(appendDims(dst, e.OutputShape), '}', ',')
	}
	if n, _ := e.OutputShape.Elements(); n != e.OutputElements {
		dst = appendIntAttr(dst, op.KeyOutputElements, e.OutputElements)
	}
	dst = appendTextAttr(dst, op.KeyDType, string(e.DType))
	dst = appendIntAttr(dst, op.KeyMemory, e.MemoryBytes)
	return appendIntAttr(dst, op.KeyFLOPs, e.FLOPs)
}

// appendInputs appends the shapes of the inputs. A list holds an empty value
// for one that could not be read, which is what readers take it for; where
// nothing says that one could not be read, the others are numbered instead.
func appendInputs(dst []byte, e *op.Entry) []byte {
	if e.InputShapes == nil {
		return dst
	}
	hole := func(s op.Shape) bool { return s == nil }
	if slices.ContainsFunc(e.InputShapes, hole) && e.Warn&op.WarnBadShape == 0 {
		for i, s := range e.InputShapes {
			if s != nil {
				dst = jsontext.AppendString(append(dst, `{"key":`...), op.InputShapeKey(i))
				dst = append(appendDims(append(dst, `,"value":`...), s), '}', ',')
			}
		}
		return dst
	}
	dst = append(dst, `{"key":"`+op.KeyInputShapes+`","value":{"arrayValue":{"values":[`...)
	start := len(dst)
	for _, s := range e.InputShapes {
		dst = append(dst, ',')
		if s == nil {
			dst = append(dst, "{}"...)
		} else {
			dst = appendDims(dst, s)
		}
	}
	return append(trimLeadingComma(dst, start), `]}}},`...)
}

func appendDims(dst []byte, s op.Shape) []byte {
	dst = append(dst, `{"arrayValue":{"values":[`...)
	start := len(dst)
	for _, d := range s {
		dst = append(strconv.AppendInt(append(dst, `,{"intValue":"`...), d, 10), '"', '}')
	}
	return append(trimLeadingComma(dst, start), "]}}"...)
}

func appendCollective(dst []byte, c *op.Collective) []byte {
	if c == nil {
		return dst
	}
	dst = appendTextAttr(dst, op.KeyCollective, c.Name)
	dst = appendTextAttr(dst, op.KeyGroup, c.Group)
	dst = appendIntAttr(dst, op.KeyGroupSize, c.GroupSize)
	dst = appendIntAttr(dst, op.KeySequence, c.Sequence)
	dst = appendIntAttr(dst, op.KeyPeerRank, c.PeerRank)
	dst = appendIntAttr(dst, op.KeyInElements, c.InElements)
	return appendIntAttr(dst, op.KeyOutElements, c.OutElements)
}

// appendNotes appends what OTLP and the convention have no field for.
func appendNotes(dst []byte, e *op.Entry) []byte {
	dst = appendIntAttr(dst, op.KeyLaunch, e.Launch)
	dst = appendTextAttr(dst, op.KeyRoot, e.Root)
	if !e.RootSpanID.IsZero() {
		dst = appendString(dst, op.KeyRootSpan, e.RootSpanID.String())
	}
	if e.Warn != 0 {
		var names []string
		for w := range e.Warn.All() {
			names = append(names, w.String())
		}
		dst = appendString(dst, op.KeyWarnings, strings.Join(names, ","))
	}
	return dst
}

// Attributes are appended with a comma behind them.

func appendString(dst []byte, key, value string) []byte {
	dst = jsontext.AppendString(append(dst, `{"key":`...), key)
	dst = jsontext.AppendString(append(dst, `,"value":{"stringValue":`...), value)
	return append(dst, "}},"...)
}

func appendTextAttr(dst []byte, key, value string) []byte {
	if value == "" {
		return dst
	}
	return appendString(dst, key, value)
}

func appendIntAttr(dst []byte, key string, n op.Int) []byte {
	if !n.Known {
		return dst
	}
	dst = jsontext.AppendString(append(dst, `{"key":`...), key)
	dst = strconv.AppendInt(append(dst, `,"value":{"intValue":"`...), n.V, 10)
	return append(dst, `"}},`...)
}

// trimComma removes the comma behind the last of the elements from start on.
func trimComma(dst []byte, start int) []byte {
	if len(dst) == start {
		return dst
	}
	return dst[:len(dst)-1]
}

// trimLeadingComma removes the comma in front of the first of the elements
// from start on.
func trimLeadingComma(dst []byte, start int) []byte {
	if len(dst) == start {
		return dst
	}
	return append(dst[:start], dst[start+1:]...)
}
