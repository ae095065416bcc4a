package diff_test

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// The example of docs/analyses.md is what the comparison says.
func TestDocumentedComparison(t *testing.T) {
	text := check.Must(os.ReadFile("../../docs/analyses.md"))(t)
	var sides [][]*diff.Run
	var got map[string]any
	_, section, _ := strings.Cut(string(text), "\n## Comparing two runs\n")
	_, example, _ := strings.Cut(section, "By hand, ")
	for line := range strings.SplitSeq(example, "\n") {
		words := strings.Fields(line)
		switch {
		case len(got) == 0 && strings.HasPrefix(line, "    "):
			var runs []*diff.Run
			for _, us := range words[1:] {
				n := check.Must(strconv.ParseInt(us, 10, 64))(t)
				runs = append(runs, run(t, us, []*op.Entry{{Operation: "op", Duration: 1000 * n}}, false))
			}
			if sides = append(sides, runs); len(sides) == 2 {
				r := check.Must(diff.Compare(sides[0], sides[1], diff.Options{}))(t)
				check.OK(t, json.Unmarshal([]byte(encoded(t, r.Rows[0])), &got))
			}
		case strings.HasPrefix(line, "    "):
			if want, err := strconv.ParseFloat(words[1], 64); err != nil || got[words[0]] == nil || math.Abs(got[words[0]].(float64)-want) > 1e-6 {
				t.Errorf("%s is %v (%v)", line, got[words[0]], err)
			}
		case strings.HasPrefix(line, "**Values"):
			return
		}
	}
	t.Error("no example")
}
