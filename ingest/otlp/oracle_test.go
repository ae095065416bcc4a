package otlp_test

import (
	"encoding/base64"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Over random spans, the readers find what the Collector's own types hold,
// also where fields come in another order and unknown ones are among them.
func TestReadersAgreeWithPdata(t *testing.T) {
	for seed := range cases.Numbers(t, 150) {
		rng := rand.New(rand.NewPCG(seed, 1))
		td := randomTraces(rng)
		want := oracle(td)
		proto, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		if err != nil {
			t.Fatal(err)
		}
		text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
		if err != nil {
			t.Fatal(err)
		}
		for name, got := range map[string]result{
			"raw protobuf":      read(otlp.ProtoRecords, proto),
			"shuffled protobuf": read(otlp.ProtoRecords, shuffleProto(rng, proto, tracesSchema())),
			"frames":            read(otlp.FramedRecords, framed(zstdFrame(t, proto))),
			"JSON":              read(otlp.JSONRecords, text),
			"shuffled JSON":     read(otlp.JSONRecords, shuffleJSON(t, rng, text)),
		} {
			if diff := cmp.Diff(result{Records: want}, got); diff != "" {
				t.Fatalf("seed %d, %s (-pdata +got):\n%s\n%s", seed, name, diff, text)
			}
		}
	}
}

// oracle returns the records of td, found by walking the Collector's types.
func oracle(td ptrace.Traces) (records []string) {
	b := attr.NewBuilder(nil)
	for _, rs := range td.ResourceSpans().All() {
		resource := oracleResource(rs.Resource().Attributes())
		records = append(records, describe(op.Record{Resource: &resource}))
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				b.Reset()
				for k, v := range s.Attributes().All() {
					feed(b, k, v)
				}
				records = append(records, describe(oracleSpan(b, s, &resource, ss.Scope().Name())))
			}
		}
	}
	return records
}

func oracleResource(attrs pcommon.Map) (r op.Resource) {
	for k, v := range attrs.All() {
		r.SetAttr(oracleAttr(k, v))
	}
	return r
}

// oracleAttr is an attribute with its type.
func oracleAttr(k string, v pcommon.Value) op.Attr {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return op.Attr{Key: k, Value: v.Str()}
	case pcommon.ValueTypeInt:
		return op.Attr{Key: k, Value: strconv.FormatInt(v.Int(), 10), Type: op.AttrInt}
	case pcommon.ValueTypeDouble:
		return op.FloatAttr(k, v.Double())
	case pcommon.ValueTypeBool:
		return op.Attr{Key: k, Value: strconv.FormatBool(v.Bool()), Type: op.AttrBool}
	case pcommon.ValueTypeBytes:
		return op.Attr{Key: k, Value: base64.StdEncoding.EncodeToString(v.Bytes().AsRaw()), Type: op.AttrBytes}
	}
	return op.Attr{Key: k, Value: naiveJSON(v), Type: op.AttrJSON}
}

func feed(b *attr.Builder, k string, v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		b.Str(k, v.Str())
	case pcommon.ValueTypeInt:
		b.Int(k, v.Int())
	case pcommon.ValueTypeDouble:
		b.Float(k, v.Double())
	case pcommon.ValueTypeBool:
		b.Bool(k, v.Bool())
	case pcommon.ValueTypeSlice:
		list := b.BeginList(k)
		feedList(&list, v.Slice())
		list.End()
	default:
		b.Other(k)
	}
}

func feedList(list *attr.List, s pcommon.Slice) {
	for _, v := range s.All() {
		switch v.Type() {
		case pcommon.ValueTypeStr:
			list.Str(v.Str())
		case pcommon.ValueTypeInt:
			list.Int(v.Int())
		case pcommon.ValueTypeDouble:
			list.Float(v.Double())
		case pcommon.ValueTypeSlice:
			list.Begin()
			feedList(list, v.Slice())
			list.End()
		default:
			list.Other()
		}
	}
}

func oracleSpan(b *attr.Builder, s ptrace.Span, r *op.Resource, scope string) op.Record {
	start, end := uint64(s.StartTimestamp()), uint64(s.EndTimestamp())
	at, duration := op.Int{}, int64(0)
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
	b.SetName(s.Name())
	b.SetIDs(op.TraceID(s.TraceID()), op.SpanID(s.SpanID()), op.SpanID(s.ParentSpanID()))
	if s.Status().Code() == ptrace.StatusCodeError {
		b.SetError(s.Status().Message())
	}
	b.SetResource(r)
	b.SetScope(scope)
	b.SetTraceState(s.TraceState().AsRaw())
	b.SetDropped(int64(s.DroppedAttributesCount()))
	for _, l := range s.Links().All() {
		oracleLink(b, l)
	}
	if s.DroppedLinksCount() > 0 {
		b.Warn(op.WarnDroppedLinks)
	}
	if e, ok := b.Entry(); ok {
		return op.Record{Entry: e}
	}
	return op.Record{Span: &op.Span{
		Name: s.Name(), TraceID: op.TraceID(s.TraceID()), SpanID: op.SpanID(s.SpanID()), ParentSpanID: op.SpanID(s.ParentSpanID()),
		RemoteParent: s.Flags()&0x300 == 0x300, Start: at, Duration: max(0, duration), Service: r.Service,
		Failed: s.Status().Code() == ptrace.StatusCodeError, Links: b.Links(),
	}}
}

func oracleLink(b *attr.Builder, l ptrace.SpanLink) {
	link := op.Link{TraceID: op.TraceID(l.TraceID()), SpanID: op.SpanID(l.SpanID())}
	for k, v := range l.Attributes().All() {
		switch v.Type() {
		case pcommon.ValueTypeStr:
			b.Warn(link.Str(k, v.Str()))
		case pcommon.ValueTypeInt:
			b.Warn(link.Int(k, v.Int()))
		case pcommon.ValueTypeDouble:
			b.Warn(link.Float(k, v.Double()))
		default:
			b.Warn(link.Other(k))
		}
	}
	b.AddLink(link)
}

// Where everything is kept, the readers find the same in all encodings.
func TestReadersKeepTheSame(t *testing.T) {
	m := new(attr.Mapping)
	m.KeepAll()
	keeping := func(r reader) reader {
		return func(src io.Reader, name string, _ *attr.Mapping) iter.Seq2[op.Record, error] { return r(src, name, m) }
	}
	for seed := range cases.Numbers(t, 100) {
		rng := rand.New(rand.NewPCG(seed, 2))
		td := randomTraces(rng)
		proto, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		if err != nil {
			t.Fatal(err)
		}
		text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
		if err != nil {
			t.Fatal(err)
		}
		want := read(keeping(otlp.ProtoRecords), proto)
		for name, got := range map[string]result{
			"shuffled protobuf": read(keeping(otlp.ProtoRecords), shuffleProto(rng, proto, tracesSchema())),
			"frames":            read(keeping(otlp.FramedRecords), framed(proto)),
			"JSON":              read(keeping(otlp.JSONRecords), text),
			"shuffled JSON":     read(keeping(otlp.JSONRecords), shuffleJSON(t, rng, text)),
		} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, %s (-protobuf +got):\n%s\n%s", seed, name, diff, text)
			}
		}
	}
}
