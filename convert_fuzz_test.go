package optrace_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
)

// fuzzSource makes spans of arbitrary bytes; behind their end all is zero.
type fuzzSource struct{ data []byte }

func (f *fuzzSource) byte() byte {
	if len(f.data) == 0 {
		return 0
	}
	b := f.data[0]
	f.data = f.data[1:]
	return b
}

func (f *fuzzSource) below(n int) int { return int(f.byte()) % n }

func (f *fuzzSource) int() int64 {
	switch f.below(4) {
	case 0:
		return int64(f.byte())
	case 1:
		return -int64(f.byte())
	case 2:
		return math.MaxInt64 - int64(f.byte())
	}
	var b [8]byte
	f.data = f.data[copy(b[:], f.data):]
	return int64(binary.LittleEndian.Uint64(b[:]))
}

func (f *fuzzSource) float() float64 {
	if f.below(2) == 0 {
		return float64(f.int())
	}
	return math.Float64frombits(uint64(f.int()))
}

func (f *fuzzSource) string() string {
	n := min(f.below(24), len(f.data))
	s := string(f.data[:n])
	f.data = f.data[n:]
	return s
}

var fuzzKeys = []string{
	op.KeyName, op.KeyName, op.KeyInputShapes, op.KeyInputShapes, op.KeyOutputShape, op.KeyInputDTypes, op.KeyKind,
	op.KeyPath, op.KeyFLOPs, op.KeySide, op.KeyOutputElements, op.KeyDType, op.KeyDevice, op.KeyStream, op.KeyStep,
	op.KeyMemory, op.KeyCollective, op.KeyGroup, op.KeyGroupSize, op.KeySequence, op.KeyPeerRank, op.KeyInElements,
	op.KeyRank, op.InputShapeKey(0), op.InputShapeKey(3), "pytorch.input_shapes", "pytorch.device.type",
	"pytorch.device.index", "pytorch.device_memory_usage_bytes", "op", "device", "kept",
}

func (f *fuzzSource) key() string {
	if i := f.below(len(fuzzKeys) + 1); i < len(fuzzKeys) {
		return fuzzKeys[i]
	}
	return f.string()
}

func list[T any](f *fuzzSource, element func() T) []T {
	out := make([]T, f.below(6))
	for i := range out {
		out[i] = element()
	}
	return out
}

func (f *fuzzSource) value(depth int) attribute.Value {
	kinds := 11
	if depth == 0 {
		kinds = 9 // no lists of values, no maps
	}
	switch f.below(kinds) {
	case 0:
		return attribute.Int64SliceValue(list(f, f.int))
	case 1:
		return attribute.StringValue(f.string())
	case 2:
		return attribute.Int64Value(f.int())
	case 3:
		return attribute.Float64Value(f.float())
	case 4:
		return attribute.BoolValue(f.below(2) == 1)
	case 5:
		return attribute.Float64SliceValue(list(f, f.float))
	case 6:
		return attribute.StringSliceValue(list(f, f.string))
	case 7:
		return attribute.BoolSliceValue(make([]bool, f.below(4)))
	case 8:
		return attribute.ByteSliceValue([]byte(f.string()))
	case 9:
		return attribute.SliceValue(list(f, func() attribute.Value { return f.value(depth - 1) })...)
	}
	return attribute.MapValue(list(f, func() attribute.KeyValue {
		return attribute.KeyValue{Key: attribute.Key(f.key()), Value: f.value(depth - 1)}
	})...)
}

func (f *fuzzSource) attributes() []attribute.KeyValue {
	return list(f, func() attribute.KeyValue {
		return attribute.KeyValue{Key: attribute.Key(f.key()), Value: f.value(6)}
	})
}

func (f *fuzzSource) time() time.Time {
	if f.below(3) == 0 {
		return time.Time{}
	}
	return time.Unix(f.int(), f.int())
}

func (f *fuzzSource) span() tracetest.SpanStub {
	stub := tracetest.SpanStub{
		Name: f.string(), StartTime: epoch, EndTime: epoch.Add(time.Microsecond),
		Attributes: f.attributes(), SpanContext: spanContext(f.below(3), f.below(3)), Parent: spanContext(f.below(3), 9),
		DroppedAttributes: f.below(3),
	}
	if f.below(2) == 1 {
		stub.StartTime, stub.EndTime = f.time(), f.time()
		stub.Status = sdktrace.Status{Code: codes.Code(f.below(3)), Description: f.string()}
		stub.Resource = resource.NewSchemaless(f.attributes()...)
		stub.InstrumentationScope.Name = f.string()
		if ts, err := trace.ParseTraceState("ot=th:" + f.string()); err == nil {
			stub.SpanContext = stub.SpanContext.WithTraceState(ts)
		}
		if f.below(2) == 1 {
			stub.SpanContext, stub.Parent = trace.SpanContext{}, trace.SpanContext{}
		}
	}
	return stub
}

// Whatever a span holds: nothing panics, what is written is whole lines, and
// each entry is valid and comes back as it was.
func FuzzConvert(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x03\x00\x01\x06matmul\x02\x09\x02\x00\x02\x00\x40\x00\x07\x00\x02\x00\x07\x00\x05"))
	f.Add([]byte("\x02\x00\x01\x03abc\x04\x00\x03\x02\x00\x02\x00\x01\x01\x05\xff\xfe\xfd"))
	f.Add([]byte("\x05\x00\x01\x01a\x02\x01\x0b[[2,3],[4]]\x1f\x06\x02\x03a\xffb\x01\n"))
	var mapping op.Mapping
	mapping.Keep("kept")
	f.Fuzz(func(t *testing.T, data []byte) {
		source := &fuzzSource{data}
		var spans []sdktrace.ReadOnlySpan
		for range 1 + source.below(3) {
			spans = append(spans, source.span().Snapshot())
		}
		var out bytes.Buffer
		exp := newExporter(t, &out, optrace.WithMapping(&mapping))
		if err := exp.ExportSpans(t.Context(), spans); err != nil {
			t.Fatal(err)
		}
		written := uint64(0)
		for line := range bytes.Lines(out.Bytes()) {
			line, ended := bytes.CutSuffix(line, []byte("\n"))
			rec, err := op.DecodeLine(line)
			if err != nil || !ended {
				t.Fatalf("line %q (ended: %v): %v", line, ended, err)
			}
			if rec.Entry == nil {
				continue
			}
			written++
			if err := rec.Entry.Validate(); err != nil {
				t.Errorf("entry %s: %v", line, err)
			}
			if again := rec.Entry.AppendJSON(nil); !bytes.Equal(line, again) {
				t.Errorf("entry changes when it is read and written:\n%s\n%s", line, again)
			}
		}
		if st := exp.Stats(); st.Written != written || st.Dropped != 0 {
			t.Errorf("%d entries with %+v", written, st)
		}
	})
}
