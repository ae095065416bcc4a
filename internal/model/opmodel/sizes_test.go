package opmodel

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

func TestAddSaturating(t *testing.T) {
	const most = 1<<63 - 1
	const least = -1 << 63
	for _, test := range []struct{ a, b, want int64 }{
		{0, 0, 0}, {1, 2, 3}, {-1, 1, 0}, {most, 0, most}, {0, least, least}, {most - 1, 1, most},
		{most, 1, most}, {1, most, most}, {most, most, most}, {least, -1, least}, {least, least, least},
		{least, most, -1},
	} {
		check.Equal(t, fmt.Sprintf("AddSaturating(%d, %d)", test.a, test.b), test.want, AddSaturating(test.a, test.b))
	}
}
