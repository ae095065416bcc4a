package otlp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/text/protobuf"
)

// messageOf returns a message of one field of n bytes, behind its length.
func messageOf(n int) []byte {
	field := append(protobuf.AppendHead(nil, protobuf.TracesResourceSpans, n), make([]byte, n)...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(field))), field...)
}

func TestWhole(t *testing.T) {
	text := slices.Concat(messageOf(5), messageOf(0), messageOf(300))
	ends := []int{0, 11, 17, 324}
	if len(text) != ends[3] {
		t.Fatalf("%d bytes", len(text))
	}
	for n := range len(text) + 1 {
		for _, from := range ends {
			if from > n {
				break
			}
			want := from
			for _, end := range ends {
				if from < end && end <= n {
					want = end
				}
			}
			if got, err := Proto.Whole(bytes.NewReader(text[:n]), int64(from), int64(n)); err != nil ||
				got != int64(want) {
				t.Errorf("%d bytes from %d are whole up to %d, %v, want %d", n, from, got, err, want)
			}
		}
	}
	// A length that differs from its message's ends the whole part.
	for bit := range 32 {
		damaged := bytes.Clone(text)
		damaged[11+bit/8] ^= 1 << (bit % 8)
		if got, err := Proto.Whole(bytes.NewReader(damaged), 0, int64(len(damaged))); err != nil || got != 11 {
			t.Errorf("with bit %d of a length flipped %d bytes are whole, %v, want 11", bit, got, err)
		}
	}
}

func TestRecognize(t *testing.T) {
	res := resource.NewSchemaless(attribute.String("service.name", "trainer"))
	enc := newEncoder(nil, encoding.DefaultCacheBytes, new(protoCodec))
	batch := encoding.NewBatch(0)
	enc.Add(batch, span.Ended{Data: &span.Data{
		Name: "matmul", Resource: res, Attrs: []attribute.KeyValue{attribute.String(attrkey.Name, "matmul")},
	}}, new(traces.WithOps))
	text, _ := Proto.Frame(batch, &encoding.Framing{})
	for n := 1; n <= len(text); n++ {
		check.Equal(t, fmt.Sprintf("the first %d bytes of a message", n), encoding.Own, Proto.Recognize(text[:n]))
	}
	damaged := bytes.Clone(text)
	damaged[0] = 0x80
	for _, tt := range []struct {
		name string
		head []byte
		want encoding.Origin
	}{
		{"notes", []byte("# Hi\nmy notes are short\n"), encoding.Foreign},
		{"a short text", []byte("ab\n"), encoding.Foreign}, {"four letters", []byte("abc\n"), encoding.Foreign},
		{"lines", []byte("a,b,\n\n\n\n\n1,2\n"), encoding.Foreign},
		{"entries", []byte(`{"step":1}`), encoding.Foreign},
		{"a program", []byte("\x7fELF\x02\x01\x01\x00\x00"), encoding.Foreign},
		{"Parquet", []byte("PAR1\x15\x04\x15\x80"), encoding.Foreign},
		{"zeros", make([]byte, 100), encoding.Foreign}, {"a damaged length", damaged, encoding.Damaged},
	} {
		check.Equal(t, tt.name, tt.want, Proto.Recognize(tt.head))
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("# Hi\nmy notes"), 0)
	f.Add(slices.Concat(messageOf(5), messageOf(300)), 11)
	f.Fuzz(func(t *testing.T, text []byte, from int) {
		if len(text) > 0 {
			Proto.Recognize(text)
		}
		if from < 0 || from > len(text) {
			return
		}
		whole, err := Proto.Whole(bytes.NewReader(text), int64(from), int64(len(text)))
		if err != nil || whole < int64(from) || whole > int64(len(text)) {
			t.Errorf("whole up to %d, %v, of %d from %d", whole, err, len(text), from)
		}
	})
}
