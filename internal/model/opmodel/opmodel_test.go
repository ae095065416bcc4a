package opmodel

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
)

func TestCannotMultiply(t *testing.T) {
	golden.Lines(t, "testdata/products.txt", func(line string) string {
		name, texts, _ := strings.Cut(line, " ")
		var inputs []op.Shape
		for text := range strings.FieldsSeq(texts) {
			var shape op.Shape
			for d := range strings.SplitSeq(text, "x") {
				if n, err := strconv.ParseInt(d, 10, 64); err == nil { // "?" is unknown
					shape = append(shape, n)
				}
			}
			inputs = append(inputs, shape)
		}
		return strconv.FormatBool(CannotMultiply(name, inputs))
	})
}

func TestTimeUnit(t *testing.T) {
	for n, want := range map[int64]string{
		1_764_359_584: "seconds", 1_764_359_584_123: "milliseconds", 1_764_359_584_123_456: "microseconds",
		0: "", 1000: "", 60_000_000_000: "", Year2000 - 1: "",
	} {
		if got := TimeUnit(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestAddSaturating(t *testing.T) {
	const most = 1<<63 - 1
	const least = -1 << 63
	for _, test := range []struct{ a, b, want int64 }{
		{0, 0, 0}, {1, 2, 3}, {-1, 1, 0}, {most, 0, most}, {0, least, least}, {most - 1, 1, most}, {most, 1, most},
		{1, most, most}, {most, most, most}, {least, -1, least}, {least, least, least}, {least, most, -1},
	} {
		check.Equal(t, fmt.Sprintf("AddSaturating(%d, %d)", test.a, test.b), test.want, AddSaturating(test.a, test.b))
	}
}
