package natural_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/text/natural"
)

func TestCompare(t *testing.T) {
	want := []string{
		"", "-1", "0", "00", "01", "1", "9", "10", "18446744073709551616", "a", "a01", "a1", "a01b", "a1b", "a2", "a10",
		"cuda", "cuda:0", "cuda:2", "cuda:10", "cuda:10/1", "cuda:10/9", "é1", "é10",
	}
	got := slices.Clone(want)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, natural.Compare)
	check.Equal(t, "order", want, got)
}

// Compare is a total order: it agrees with itself from both sides and over three
// names, and only equal names are equal.
func TestCompareIsAnOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	name := func() string {
		var b strings.Builder
		for range r.IntN(5) {
			b.WriteString([]string{"0", "1", "00", "9", "a", "b", "/", ":"}[r.IntN(8)])
		}
		return b.String()
	}
	for range 200_000 {
		a := name()
		b := name()
		c := name()
		ab := natural.Compare(a, b)
		ba := natural.Compare(b, a)
		if ab != -ba || (ab == 0) != (a == b) {
			t.Fatalf("Compare(%q, %q) = %d, and %d the other way", a, b, ab, ba)
		}
		if ab <= 0 && natural.Compare(b, c) <= 0 && natural.Compare(a, c) > 0 {
			t.Fatalf("%q, %q and %q are in no order", a, b, c)
		}
	}
}
