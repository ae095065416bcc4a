package otlp_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// On random spans, shuffled and with unknown fields, the readers agree with OTLP's generated types.
func TestReadersAgreeWithOracle(t *testing.T) {
	for seed := range cases.Numbers(t, 150) {
		rng := rand.New(rand.NewPCG(seed, 1))
		td := randomTraces(rng)
		checkReaders(t, fmt.Sprint("seed ", seed), rng, td, nil, result{Records: oracle(td)})
	}
}

// checkReaders checks the readers in all encodings.
func checkReaders(t *testing.T, what string, rng *rand.Rand, td *tracepb.TracesData, m *attr.Mapping, want result) {
	t.Helper()
	text := otlptest.MarshalJSON(t, td)
	message := check.Must(proto.Marshal(td))(t)
	for name, got := range map[string]result{
		"raw protobuf": readWith(otlp.ProtoRecords, message, m),
		"shuffled protobuf": readWith(otlp.ProtoRecords, otlptest.ShuffleProto(rng, message,
			td.ProtoReflect().Descriptor()), m),
		"frames":             readWith(otlp.FramedRecords, framed(message), m),
		"frames, compressed": readWith(otlp.FramedRecords, framed(zstdFrame(t, message)), m),
		"JSON":               readWith(otlp.JSONRecords, text, m),
		"shuffled JSON":      readWith(otlp.JSONRecords, shuffleJSON(t, rng, text), m),
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s, %s (-want +got):\n%s\n%s", what, name, diff, text)
		}
	}
}

// oracle returns the records of td, by walking the generated types.
func oracle(td *tracepb.TracesData) (records []string) {
	b := attrmap.NewBuilder(nil)
	for _, rs := range td.ResourceSpans {
		var resource op.Resource
		for _, a := range rs.Resource.Attributes {
			opmodel.SetResourceAttr(&resource, new(opmodel.AttrIndex), oracleAttr(a.Key, a.Value))
		}
		records = append(records, describe(op.Record{Resource: &resource}))
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				b.Reset()
				for _, a := range s.Attributes {
					b.SetAttr(oracleAttr(a.Key, a.Value))
				}
				records = append(records, describe(oracleSpan(b, s, &resource, ss.Scope.Name)))
			}
		}
	}
	return records
}

// oracleAttr is an attribute with its type.
func oracleAttr(k string, v *commonpb.AnyValue) op.Attr {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return op.Attr{Key: k, Value: v.StringValue}
	case *commonpb.AnyValue_IntValue:
		return op.Attr{Key: k, Value: strconv.FormatInt(v.IntValue, 10), Type: op.AttrInt}
	case *commonpb.AnyValue_DoubleValue:
		return opmodel.FloatAttr(k, v.DoubleValue)
	case *commonpb.AnyValue_BoolValue:
		return op.Attr{Key: k, Value: strconv.FormatBool(v.BoolValue), Type: op.AttrBool}
	case *commonpb.AnyValue_BytesValue:
		return op.Attr{Key: k, Value: base64.StdEncoding.EncodeToString(v.BytesValue), Type: op.AttrBytes}
	}
	return op.Attr{Key: k, Value: naiveJSON(v), Type: op.AttrJSON}
}

func traceID(b []byte) (id op.TraceID) { copy(id[:], b); return id }
func spanID(b []byte) (id op.SpanID)   { copy(id[:], b); return id }

func oracleSpan(b *attrmap.Builder, s *tracepb.Span, r *op.Resource, scope string) op.Record {
	start, end := s.StartTimeUnixNano, s.EndTimeUnixNano
	at := op.Int{}
	duration := int64(0)
	startOK, endOK := start > 0 && start <= math.MaxInt64, end > 0 && end <= math.MaxInt64
	if startOK {
		at = op.Known(int64(start))
	}
	switch {
	case start == 0 && end > 0 && end <= 24*60*60*1e9: // a duration without a start
		duration = int64(end)
		b.SetDuration(duration)
	case startOK && endOK:
		duration = int64(end) - int64(start)
		b.SetTime(at, duration)
	default:
		b.SetTime(at, 0)
		b.Warn(op.WarnBadTime)
	}
	trace := traceID(s.TraceId)
	id := spanID(s.SpanId)
	parent := spanID(s.ParentSpanId)
	failed := s.Status.Code == tracepb.Status_STATUS_CODE_ERROR
	b.SetName(s.Name)
	b.SetIDs(trace, id, parent)
	for _, e := range s.Events {
		var attrs []op.Attr
		for _, a := range e.Attributes {
			attrs = append(attrs, oracleAttr(a.Key, a.Value))
		}
		b.AddEvent(op.Event{Name: e.Name, Attrs: attrs})
	}
	if failed {
		b.SetError(s.Status.Message)
	}
	b.SetResource(r)
	b.SetScope(scope)
	b.SetTraceState(s.TraceState)
	b.SetDropped(int64(s.DroppedAttributesCount))
	for _, l := range s.Links {
		oracleLink(b, l)
	}
	b.DropLinks(int64(s.DroppedLinksCount))
	if e, ok := b.Entry(); ok {
		return op.Record{Entry: e}
	}
	var extra *op.Extra
	if n := int64(s.DroppedLinksCount); n > 0 {
		extra = &op.Extra{DroppedLinks: n}
	}
	if text := b.ErrorText(s.Status.Message); failed && text != "" {
		extra = &op.Extra{DroppedLinks: int64(s.DroppedLinksCount), Message: text}
	}
	return op.Record{Span: &op.Span{
		Extra: extra, Name: s.Name, TraceID: trace, SpanID: id, ParentSpanID: parent,
		RemoteParent: s.Flags&0x300 == 0x300, Start: at,
		Duration: max(0, duration), Service: r.Service, Failed: failed, Links: b.Links(), Attrs: oracleStep(b),
	}}
}

// oracleStep is the step that a span keeps. As an operation the span would have the same.
func oracleStep(b *attrmap.Builder) []op.Attr {
	b.SetAttr(op.Attr{Key: attrkey.Name, Value: "matmul"})
	if e, _ := b.Entry(); e.Step.Known {
		return []op.Attr{{Key: attrkey.Step, Value: strconv.FormatInt(e.Step.V, 10), Type: op.AttrInt}}
	}
	return nil
}

func oracleLink(b *attrmap.Builder, l *tracepb.Span_Link) {
	link := op.Link{TraceID: traceID(l.TraceId), SpanID: spanID(l.SpanId)}
	for _, a := range l.Attributes {
		b.Warn(opmodel.LinkAttr(&link, oracleAttr(a.Key, a.Value)))
	}
	b.AddLink(link)
}

// With a mapping that keeps everything, the readers agree in all encodings.
func TestReadersKeepTheSame(t *testing.T) {
	m := new(attr.Mapping)
	m.KeepAll()
	for seed := range cases.Numbers(t, 100) {
		rng := rand.New(rand.NewPCG(seed, 2))
		td := randomTraces(rng)
		checkReaders(t, fmt.Sprint("seed ", seed), rng, td, m,
			readWith(otlp.ProtoRecords, check.Must(proto.Marshal(td))(t), m))
	}
}

// fuzzReader checks a reader's records and that it does not panic.
func fuzzReader(t *testing.T, r reader, text []byte) {
	t.Helper()
	all := new(attr.Mapping)
	all.KeepAll()
	for _, m := range []*attr.Mapping{nil, all} {
		recordtest.Check(t, r(bytes.NewReader(text), "fuzz", m))
	}
	check.Equal(t, "the error of a source that did not fail", "", read(r, text).Err)
}

func seed(f *testing.F, names ...string) {
	f.Helper()
	for _, name := range names {
		text := check.Must(os.ReadFile(filepath.Join("testdata", name)))(f)
		f.Add(text)
	}
}

func FuzzJSON(f *testing.F) {
	seed(f, "gate_off/traces.jsonl", "gate_off/metrics.jsonl")
	f.Add([]byte(batch("matmul")))
	f.Add([]byte(openSpans + spanOf("relu") + closeSpans + "," + resourceOf + "}]}"))
	f.Fuzz(func(t *testing.T, text []byte) { fuzzReader(t, readers["json"], text) })
}

func FuzzFrames(f *testing.F) {
	seed(f, "gate_off/traces.pb", "gate_off/traces.pb.zst", "gate_off/traces.jsonl.zst")
	f.Add(framed([]byte(batch("matmul")), field(1, field(2, protoSpan()))))
	f.Fuzz(func(t *testing.T, text []byte) { fuzzReader(t, readers["frames"], text) })
}

func FuzzProto(f *testing.F) {
	f.Add(field(1, append(protoResource(), field(2, protoSpan())...)))
	text := check.Must(os.ReadFile("testdata/gate_off/traces.pb"))(f)
	f.Add(spantest.Messages(f, text)[0])
	f.Fuzz(func(t *testing.T, text []byte) { fuzzReader(t, readers["raw"], text) })
}

// shuffleJSON returns the document with shuffled and unknown members, indented or not, with numbers, ids and enums in
// other valid forms.
func shuffleJSON(t *testing.T, rng *rand.Rand, text []byte) []byte {
	t.Helper()
	var tree any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	check.OK(t, dec.Decode(&tree))
	var b strings.Builder
	space := ""
	if rng.IntN(2) == 0 {
		space = "\n  "
	}
	writeShuffled(&b, rng, tree, "", space)
	return []byte(b.String())
}

func writeShuffled(b *strings.Builder, rng *rand.Rand, tree any, name, space string) {
	switch v := tree.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v)+1)
		for k := range v {
			keys = append(keys, k)
		}
		if len(v) > 0 && rng.IntN(4) == 0 {
			keys = append(keys, "unknownMember")
		}
		rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		b.WriteString("{")
		for i, k := range keys {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(space + strconv.Quote(k) + ":" + space)
			if member, ok := v[k]; ok {
				writeShuffled(b, rng, member, k, space)
			} else {
				b.WriteString(`[{"a":["}"]},null,-1.5e-3,"\""]`)
			}
		}
		b.WriteString(space + "}")
	case []any:
		b.WriteString("[")
		for i, e := range v {
			if i > 0 {
				b.WriteString("," + space)
			}
			writeShuffled(b, rng, e, "", space)
		}
		b.WriteString("]")
	default:
		b.WriteString(respell(rng, v, name))
	}
}

// respell returns a scalar in one of its valid forms.
func respell(rng *rand.Rand, v any, name string) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	s, isString := v.(string)
	if rng.IntN(2) == 0 {
		return string(text)
	}
	switch name {
	case "intValue", "startTimeUnixNano", "endTimeUnixNano":
		if isString {
			return s
		}
	case "traceId", "spanId", "parentSpanId":
		return strings.ToUpper(string(text))
	case "code":
		return map[string]string{"1": `"STATUS_CODE_OK"`, "2": `"STATUS_CODE_ERROR"`}[string(text)]
	}
	return string(text)
}

// naiveJSON returns a value as JSON.
func naiveJSON(v *commonpb.AnyValue) string {
	var parts []string
	switch v := v.Value.(type) {
	case *commonpb.AnyValue_ArrayValue:
		for _, e := range v.ArrayValue.Values {
			parts = append(parts, naiveJSON(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case *commonpb.AnyValue_KvlistValue:
		for _, e := range v.KvlistValue.Values {
			parts = append(parts, quoteJSON(e.Key)+":"+naiveJSON(e.Value))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case *commonpb.AnyValue_StringValue:
		return quoteJSON(v.StringValue)
	case *commonpb.AnyValue_BytesValue:
		return `{"bytesValue":` + quoteJSON(base64.StdEncoding.EncodeToString(v.BytesValue)) + `}`
	case *commonpb.AnyValue_IntValue:
		return strconv.FormatInt(v.IntValue, 10)
	case *commonpb.AnyValue_BoolValue:
		return strconv.FormatBool(v.BoolValue)
	case *commonpb.AnyValue_DoubleValue:
		f := v.DoubleValue
		switch {
		case math.IsNaN(f):
			return `{"doubleValue":"NaN"}`
		case math.IsInf(f, 0):
			return `{"doubleValue":"` + strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+") + `inity"}`
		case f == math.Trunc(f) && math.Abs(f) < 1e21:
			return strconv.FormatFloat(f, 'f', 1, 64)
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return "null"
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
