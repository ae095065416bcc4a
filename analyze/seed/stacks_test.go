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
