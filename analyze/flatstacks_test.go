package analyze

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/op"
)

func flatText(t *testing.T, f *FlatStacks) string {
	t.Helper()
	var b bytes.Buffer
	n, err := f.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("WriteTo returned %d, %v after %d bytes", n, err, b.Len())
	}
	return b.String()
}

func TestFlatStacks(t *testing.T) {
	us := func(name, device string, ns int64) *op.Entry { return opAt(name, 1, 0, 0, ns).on(device).entry() }
	tests := []struct {
		name    string
		entries []*op.Entry
		want    string
	}{
		{name: "empty"},
		{
			name: "the seed's case",
			entries: []*op.Entry{
				us("matmul", "gpu:0", 123_000), us("matmul", "gpu:0", 77_000), us("relu", "gpu:1", 50_000),
			},
			want: "trace;gpu:0;matmul 200\ntrace;gpu:1;relu 50",
		},
		{
			name: "each duration is rounded by itself, at least to 1",
			entries: []*op.Entry{
				us("a", "gpu:0", 0), us("a", "gpu:0", 400), us("a", "gpu:0", 1_499), us("b", "gpu:0", 1_500), us("c", "gpu:0", 2_500), us("d", "gpu:0", 2_499),
			},
			want: "trace;gpu:0;a 3\ntrace;gpu:0;b 2\ntrace;gpu:0;c 3\ntrace;gpu:0;d 2",
		},
		{
			name:    "no device, and the host's view",
			entries: []*op.Entry{us("a", "", 5_000), us("a", "unknown", 5_000), opAt("a", 1, 0, 0, 9_000).fromHost().entry()},
			want:    "trace;unknown;a 10",
		},
		{
			name:    "escaped",
			entries: []*op.Entry{us("a;b\n", "gpu;0", 5_000), us("a:b ", "gpu:0", 6_000)},
			want:    "trace;gpu:0;a:b  11",
		},
		{
			name:    "no overflow",
			entries: []*op.Entry{us("a", "g", math.MaxInt64), us("a", "g", math.MaxInt64)},
			want:    "trace;g;a 18446744073709552",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var f FlatStacks
			for _, e := range tt.entries {
				f.Add(e)
			}
			if diff := cmp.Diff(tt.want, flatText(t, &f)); diff != "" {
				t.Errorf("stacks (-want +got):\n%s", diff)
			}
		})
	}
}

// The seed computes in floating-point microseconds.
func TestFlatStacksAgainstSeed(t *testing.T) {
	seeds(50, func(seed uint64, r *rand.Rand) {
		for range 1000 {
			ns := r.Int64N(1 << uint(1+r.IntN(50)))
			want := int64(math.Round(max(float64(ns)/1000, 1)))
			if got := flatWeight(ns); got != want {
				t.Errorf("seed %d: weight of %d ns is %d, want %d", seed, ns, got, want)
			}
		}
	})
}

func TestFlatStacksMerge(t *testing.T) {
	seeds(20, func(seed uint64, r *rand.Rand) {
		entries := randomEntries(r, 300)
		var whole, merged FlatStacks
		parts := make([]FlatStacks, 5)
		for i := range entries {
			whole.Add(&entries[i])
			parts[r.IntN(len(parts))].Add(&entries[i])
		}
		for i := range parts {
			merged.Merge(&parts[i])
		}
		if diff := cmp.Diff(flatText(t, &whole), flatText(t, &merged)); diff != "" {
			t.Errorf("seed %d: stacks (-whole +merged):\n%s", seed, diff)
		}
	})
}

func TestFlatStacksWriteError(t *testing.T) {
	full := errors.New("disk full")
	var f FlatStacks
	f.Add(opAt("matmul", 1, 0, 0, 1000).entry())
	if n, err := f.WriteTo(&limitedWriter{5, full}); n != 5 || !errors.Is(err, full) {
		t.Errorf("WriteTo returned %d, %v; want 5, %v", n, err, full)
	}
}
