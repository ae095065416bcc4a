package seed

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

func text(t *testing.T, s *Stacks) string {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, s.Write(&b))
	return b.String()
}

func TestStacksWrite(t *testing.T) {
	us := func(name, device string, ns int64) *op.Entry {
		return &op.Entry{Operation: name, DeviceID: device, Duration: ns}
	}
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
			want: "trace;gpu:0;matmul 200\ntrace;gpu:1;relu 50\n",
		},
		{
			name: "each duration is rounded by itself, at least to 1",
			entries: []*op.Entry{
				us("a", "gpu:0", 0), us("a", "gpu:0", 400), us("a", "gpu:0", 1_499), us("b", "gpu:0", 1_500), us("c", "gpu:0", 2_500), us("d",
					"gpu:0", 2_499),
			},
			want: "trace;gpu:0;a 3\ntrace;gpu:0;b 2\ntrace;gpu:0;c 3\ntrace;gpu:0;d 2\n",
		},
		{
			name:    "no device, and the host's view",
			entries: []*op.Entry{us("a", "", 5_000), us("a", "unknown", 5_000), {Operation: "a", Duration: 9_000, Side: op.SideHost}},
			want:    "trace;unknown;a 10\n",
		},
		{
			name:    "escaped",
			entries: []*op.Entry{us("a;b\n", "gpu;0", 5_000), us("a:b ", "gpu:0", 6_000)},
			want:    "trace;gpu:0;a:b  11\n",
		},
		{
			name:    "no overflow",
			entries: []*op.Entry{us("a", "g", math.MaxInt64), us("a", "g", math.MaxInt64)},
			want:    "trace;g;a 18446744073709552\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var f Stacks
			for _, e := range tt.entries {
				f.Add(e)
			}
			check.Equal(t, "stacks", tt.want, text(t, &f))
		})
	}
}

// The seed computes in floating-point microseconds.
func TestRoundMicrosAgainstFloats(t *testing.T) {
	cases.Seeds(t, 50, func(seed uint64, r *rand.Rand) {
		for range 1000 {
			ns := r.Int64N(1 << uint(1+r.IntN(50)))
			want := int64(math.Round(max(float64(ns)/1000, 1)))
			check.Equal(t, fmt.Sprintf("seed %d: weight of %d ns", seed, ns), want, roundMicros(ns))
		}
	})
}

func TestStacksWriteError(t *testing.T) {
	full := errors.New("disk full")
	var s Stacks
	s.Add(&op.Entry{Operation: "matmul", Duration: 1000})
	check.Is(t, "Write", full, s.Write(failing{full}))
}

// Whatever the names are, each line is three frames and a weight.
func FuzzStacksWrite(f *testing.F) {
	for _, name := range []string{"", "a", "a;b", "a b", "line\nbreak", "tab\t", "\x00\x1b[31m", "\xff\xfe", "\u2028", "x 5", "trace;5 5"} {
		f.Add(name, "cuda:0")
		f.Add("matmul", name)
	}
	f.Fuzz(func(t *testing.T, name, device string) {
		var s Stacks
		s.Add(&op.Entry{Operation: name, DeviceID: device, Duration: 7000})
		want := "trace;" + stacks.Collapse(cmp.Or(device, unknownDevice)) + ";" + stacks.Collapse(name) + " 7\n"
		got := text(t, &s)
		if got != want || strings.Count(got, ";") != 2 || strings.IndexFunc(got, unicode.IsControl) != len(got)-1 {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// failing is a writer that fails.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
