package flags

import (
	"math"
	"os"
	"runtime/debug"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// The heap stays below -max-memory by more than the program takes, unless GOMEMLIMIT is set.
func TestHeapStaysBelowMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	t.Setenv("GOMEMLIMIT", "off")
	for _, test := range []struct {
		set  bool
		size MemorySize
		want int64
	}{
		{true, 1 << 30, math.MaxInt64},
		{false, 0, math.MaxInt64},
		{false, 1 << 30, 960 << 20},
	} {
		debug.SetMemoryLimit(math.MaxInt64)
		if !test.set {
			check.OK(t, os.Unsetenv("GOMEMLIMIT"))
		}
		test.size.LimitHeap()
		check.Equal(t, test.size.String(), test.want, debug.SetMemoryLimit(-1))
	}
}
