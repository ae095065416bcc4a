package stacks

import (
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// hostileNames are names that collapsed stacks must escape or keep apart.
var hostileNames = []string{"", "a", "b", "ab", "a b", "a~", "a;b", "a:b", "\n", " ", "\xff"}

func pathOf(frames ...string) *Path {
	var p Path
	for _, f := range frames {
		p.Push(f)
	}
	return &p
}

// A stack of too many or too long names ends in the frame Deeper, until frames are cut.
func TestStackDepthIsBounded(t *testing.T) {
	path := pathOf("a", strings.Repeat("b", MaxBytes-100), "c", strings.Repeat("d", 100), "e")
	check.Equal(t, "depth", 4, path.Depth())
	path.Cut(1)
	path.Push("f")
	check.Equal(t, "", []string{"a", "f"}, framesOf(string(path.text)))
	check.Equal(t, "too long", []string{Deeper}, framesOf(string(pathOf(strings.Repeat("x", MaxBytes+1), "y").text)))
	deep := pathOf(slices.Repeat([]string{"call"}, 3000)...)
	check.Equal(t, "too deep", append(slices.Repeat([]string{"call"}, MaxDepth-1), Deeper), framesOf(string(deep.text)))
}
