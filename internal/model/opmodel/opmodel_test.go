package opmodel

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func TestCannotMultiply(t *testing.T) {
	shapes := func(all ...op.Shape) []op.Shape { return all }
	for _, test := range []struct {
		name   string
		inputs []op.Shape
		want   bool
	}{
		{"matmul", shapes(op.Shape{64, 784}, op.Shape{32, 256}), true},
		{"aten::mm", shapes(op.Shape{64, 784}, op.Shape{32, 256}), true},
		{"bmm", shapes(op.Shape{8, 64, 784}, op.Shape{8, 32, 256}), true},
		{"matmul", shapes(op.Shape{64, 784}, op.Shape{784, 256}), false},
		{"matmul", shapes(op.Shape{64, 784}, op.Shape{256, 784}), false}, // the second one is transposed
		{"matmul", shapes(op.Shape{784, 64}, op.Shape{784, 256}), false},
		{"matmul", shapes(op.Shape{784, 64}, op.Shape{256, 784}), false},
		{"matmul", shapes(op.Shape{64, 784}, op.Shape{98, 256}), false}, // eight elements in a word
		{"matmul", shapes(op.Shape{64, 784}, op.Shape{256, 392}), false},
		{"matmul", shapes(op.Shape{1, 4096}, op.Shape{11008, 4352}), false}, // blocks of q8_0 in bytes
		{"matmul", shapes(op.Shape{1, 4096}, op.Shape{11008, 2304}), false}, // of q4_K
		{"matmul", shapes(op.Shape{1, 4096}, op.Shape{384, 11008}), false},  // three bits
		{"matmul", shapes(op.Shape{2, 65}, op.Shape{72, 128}), false},       // padded
		{"matmul", shapes(op.Shape{2, 3}, op.Shape{4, 5}), true},
		{"matmul", shapes(op.Shape{3, 7}, op.Shape{8, 5}), true},
		{"matmul", shapes(op.Shape{128, 512}, op.Shape{500, 10}), true},
		{"matmul", shapes(op.Shape{64, op.Dynamic}, op.Shape{32, 256}), false},
		{"matmul", shapes(op.Shape{64, 784}, op.Shape{32, 256}, op.Shape{256}), false}, // a bias, or something else
		{"matmul", shapes(op.Shape{64, 784}, op.Shape{0, 256}), true},
		{"matmul", shapes(op.Shape{64, 784}, nil), false}, {"matmul", shapes(op.Shape{64, 784}), false},
		{"matmul", shapes(op.Shape{2, 64, 784}, op.Shape{32, 256}), false},
		{"bmm", shapes(op.Shape{64, 784}, op.Shape{32, 256}), false},
		{"matmul_int4", shapes(op.Shape{64, 784}, op.Shape{32, 256}), false},
		{"add", shapes(op.Shape{64, 784}, op.Shape{32, 256}), false},
	} {
		if got := CannotMultiply(test.name, test.inputs); got != test.want {
			t.Errorf("%s %v: %v", test.name, test.inputs, got)
		}
	}
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
