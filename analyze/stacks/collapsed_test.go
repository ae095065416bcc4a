package stacks

import (
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/check"
)

// hostileNames are names that collapsed stacks have to escape or to keep apart.
var hostileNames = []string{"", "a", "b", "ab", "a b", "a~", "a;b", "a:b", "\n", " ", "\xff"}

// pathOf returns a path of the frames.
func pathOf(frames ...string) *Path {
	var p Path
	for _, f := range frames {
		p.Push(f)
	}
	return &p
}

// A stack whose names are too long ends in the frame Deeper, until frames are taken away again.
func TestLengthIsBounded(t *testing.T) {
	path := pathOf("a", strings.Repeat("b", MaxBytes-100), "c")
	path.Push(strings.Repeat("d", 100))
	path.Push("e")
	check.Equal(t, "depth", 4, path.Depth())
	path.Cut(1)
	path.Push("f")
	check.Equal(t, "", []string{"a", "f"}, framesOf(string(path.text)))
	if got := framesOf(string(pathOf(strings.Repeat("x", MaxBytes+1), "y").text)); !slices.Equal(got, []string{Deeper}) {
		t.Errorf("a frame that is too long: %d frames", len(got))
	}
}
