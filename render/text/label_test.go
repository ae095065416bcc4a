package text

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/termtext"
)

func TestLabels(t *testing.T) {
	long := func(middle, end string) string {
		return strings.Repeat("a", 40) + middle + strings.Repeat("b", 40) + end
	}
	for _, tc := range []struct {
		name string
		keys [][]string
		want []string
	}{
		{"short names are one line", [][]string{{"matmul", "cuda:0"}, {"relu"}, {""}}, []string{"matmul, cuda:0", "relu", ""}},
		{
			"the end of a long name stays", [][]string{{long("", "1")}, {long("", "2")}},
			[]string{"aaaaaaaaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbbbbb1", "aaaaaaaaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbbbbb2"},
		},
		{
			"names that differ in the middle are written out", [][]string{{long("1", "")}, {long("2", "")}, {long("1", "")}, {long("", "3")}},
			[]string{
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1bbbbb\n  bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2bbbbb\n  bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1bbbbb\n  bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
				"aaaaaaaaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbbbbb3",
			},
		},
		{
			"each name that does not fit has a line", [][]string{{"matmul", long("", ""), "0", "cuda:0"}},
			[]string{"matmul,\n  aaaaaaaaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbbbbb,\n  0, cuda:0"},
		},
		{"nothing reaches the terminal", [][]string{{"a\x1b[31mb\nc"}}, []string{"ab c"}},
	} {
		if diff := cmp.Diff(tc.want, labels(tc.keys)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// Labels differ where names do, and no line is too long.
func TestLabelsDiffer(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		part := func() string { return strings.Repeat(fmt.Sprint(r.IntN(2)), 1+r.IntN(40)) }
		var keys [][]string
		for range 30 {
			key := make([]string, 2)
			for i := range key {
				key[i] = "x" + part() + part() + part()
			}
			keys = append(keys, key)
		}
		seen := make(map[string]string)
		for i, label := range labels(keys) {
			for line := range strings.SplitSeq(label, "\n") {
				if termtext.Width(line) > maxCell {
					t.Errorf("seed %d: %q is too long", seed, line)
				}
			}
			key := strings.Join(keys[i], ", ")
			if other, ok := seen[label]; ok && other != key {
				t.Errorf("seed %d: %q and %q are both %q", seed, key, other, label)
			}
			seen[label] = key
		}
	}
}
