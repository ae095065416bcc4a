package otlp

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/internal/span"
	"github.com/optrace/optrace/internal/traces"
	"github.com/optrace/optrace/op"
)

// endMessage puts the length in front, however many bytes have been reserved.
func TestMessages(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 16_383, 16_384, 3_000_000} {
		content := bytes.Repeat([]byte{7}, n)
		want := appendBytesField([]byte("before"), 3, content)
		for reserve := range 5 {
			dst, start := beginMessage([]byte("before"), 3, reserve)
			if got := endMessage(append(dst, content...), start, reserve); !bytes.Equal(got, want) {
				t.Errorf("a message of %d bytes with %d reserved is wrong", n, reserve)
			}
		}
	}
}

func TestWhole(t *testing.T) {
	message := func(n int) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(n)), make([]byte, n)...) }
	text := append(append(message(5), message(0)...), message(300)...)
	for n := range len(text) + 1 {
		want := int64(0)
		for _, end := range []int{9, 13, 317} {
			if n >= end {
				want = int64(end)
			}
		}
		if got, err := Proto.Whole(bytes.NewReader(text[:n]), int64(n)); err != nil || got != want {
			t.Errorf("%d bytes are whole up to %d, %v, want %d", n, got, err, want)
		}
	}
}

func TestUnixNano(t *testing.T) {
	if got := unixNano(time.Unix(-5, 0)); got != 0 {
		t.Errorf("a time before 1970 is %d", got)
	}
	if got := unixNano(time.Unix(1, 2)); got != 1_000_000_002 {
		t.Errorf("a time is %d", got)
	}
}

func BenchmarkAdd(b *testing.B) {
	for name, format := range map[string]encoding.Format{"json": JSON, "proto": Proto} {
		b.Run(name, func(b *testing.B) {
			enc := format.NewEncoder(nil, encoding.DefaultCacheBytes)
			var w traces.WithOps
			batch := encoding.NewBatch(1 << 20)
			context := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})
			e := span.Ended{Context: context, Data: &span.Data{
				Name: "matmul", Context: context, Start: time.Unix(1, 0), End: time.Unix(2, 0), Kind: trace.SpanKindInternal,
				Attrs: []attribute.KeyValue{
					attribute.String(op.KeyName, "matmul"), attribute.Int64Slice(op.KeyOutputShape, []int64{64, 256}),
				},
			}}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%1000 == 0 {
					batch.Reset()
				}
				enc.Add(batch, e, &w)
			}
		})
	}
}
