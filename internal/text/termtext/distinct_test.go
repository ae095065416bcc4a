package termtext_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/model/kernelname"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/text/termtext"
)

func shortened(names []string, width int) []string {
	fit := func(name string) string { return termtext.Shorten(kernelname.Short(name), width) }
	return termtext.Distinct(names, width, fit, kernelname.Long)
}

func TestDistinct(t *testing.T) {
	golden.Cases(t, "testdata/distinct.txt", func(names string) string {
		return strings.Join(shortened(strings.Split(names, "\n"), 24), "\n")
	})
	check.Equal(t, "no name", []string{"", "relu"}, shortened([]string{"", "relu"}, 24))
}

// Names that look equal are numbered.
func TestDistinctNumbers(t *testing.T) {
	got := shortened([]string{"abcdefgh1", "abcdefgh2", "abcdefgh1", "abcdefgh3"}, 3)
	check.Equal(t, "", []string{"a…1", "a…2", "a…1", "a…3"}, got)
	got = shortened([]string{"abcdefgh1z", "abcdefgh2z", "abcdefgh1z", "abcdefgh3z"}, 3)
	check.Equal(t, "", []string{"a…z", "…#2", "a…z", "…#3"}, got)
}

// Different names look different, and fit.
func TestDistinctIsDistinct(t *testing.T) {
	for seed := range cases.Numbers(t, 500) {
		r := rand.New(rand.NewPCG(seed, 0))
		part := func() string {
			return strings.Repeat([]string{"0", "1", "矩", "é", "e\u0301", "#", "…"}[r.IntN(7)], 1+r.IntN(20))
		}
		names := make([]string, 30)
		for i := range names {
			names[i] = "x" + part() + part() + part()
		}
		width := 4 + r.IntN(40)
		seen := make(map[string]string)
		for i, short := range shortened(names, width) {
			if termtext.Width(short) > width {
				t.Errorf("seed %d: %q is wider than %d", seed, short, width)
			}
			if other, ok := seen[short]; ok && other != names[i] {
				t.Errorf("seed %d: %q and %q are both %q", seed, names[i], other, short)
			}
			seen[short] = names[i]
		}
	}
}

func TestShortsStayDistinct(t *testing.T) {
	names := []string{"triton__0d1d2de", "triton__0d1d2d3de", "void f<4, float>(int)", "triton__0d1d2de"}
	want := []string{"triton__0d1d2de", "triton__0d1d2d3de", kernelname.Short(names[2]), "triton__0d1d2de"}
	check.Equal(t, "", want, termtext.Distinct(names, math.MaxInt32, kernelname.Short, kernelname.Long))
}
