package span

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/testing/check"
)

func TestMemory(t *testing.T) {
	numbers := make([]int64, 390)
	nested := attribute.Int64SliceValue(numbers)
	for range 3 * MaxValueDepth {
		nested = attribute.SliceValue(nested)
	}
	const value, pair = 48, 64 // of attribute.Value and KeyValue, with 64 bits
	for _, tt := range []struct {
		name string
		v    attribute.Value
		want int
	}{
		{"empty", attribute.Value{}, 0}, {"boolean", attribute.BoolValue(true), 0},
		{"integer", attribute.Int64Value(1 << 40), 0}, {"number", attribute.Float64Value(0.5), 0},
		{"text", attribute.StringValue("matmul"), 6},
		{"bytes", attribute.ByteSliceValue(make([]byte, 100)), 100},
		{"no integers", attribute.Int64SliceValue(nil), minList},
		{"an integer", attribute.Int64SliceValue(numbers[:1]), minList},
		{"integers", attribute.Int64SliceValue(numbers), 390 * 8},
		{"numbers", attribute.Float64SliceValue(make([]float64, 5)), 5 * 8},
		{"booleans", attribute.BoolSliceValue(make([]bool, 50)), 50 * 8},
		{"texts", attribute.StringSliceValue([]string{"a", "bcd", strings.Repeat("x", 100)}), 3*16 + 104},
		{"shapes", attribute.SliceValue(attribute.Int64SliceValue(numbers[:4]), attribute.Int64SliceValue(numbers[:2])),
			2*value + 32 + 16},
		{"values", attribute.SliceValue(attribute.StringValue("abc"), attribute.Int64Value(1), attribute.Value{}),
			3*value + 3},
		{"no values", attribute.SliceValue(), minList},
		{"a map", attribute.MapValue(attribute.String("key", "text"), attribute.Int64Slice("n", numbers[:10])),
			2*pair + 3 + 4 + 1 + 80},
		{"texts in values", attribute.SliceValue(attribute.StringSliceValue([]string{"a", "bc"})), value + 2*16 + 3},
		{"nested deeply", nested, (MaxValueDepth + 1) * value},
	} {
		t.Run(tt.name, func(t *testing.T) {
			attrs := []attribute.KeyValue{{Key: "0123456789", Value: tt.v}}
			check.Equal(t, "bytes", 10+tt.want, Memory(attrs))
			if n := testing.AllocsPerRun(10, func() { Memory(attrs) }); n > 0 {
				t.Errorf("%v allocations", n)
			}
			check.Equal(t, "bytes by the methods of values", tt.want, copied(t, tt.v))
		})
	}
}

// copied returns valueMemory for an unknown layout.
func copied(t *testing.T, v attribute.Value) int {
	t.Helper()
	layoutKnown = false
	defer func() { layoutKnown = true }()
	return valueMemory(&v, 0)
}
