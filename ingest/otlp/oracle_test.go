package otlp_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/ingest/otlp"
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
		Duration: max(0, duration), Service: r.Service, Failed: failed, Links: b.Links(),
	}}
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
