package line_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/internal/line"
	"github.com/optrace/optrace/internal/testing/check"
)

// One of forty samples is a pause: it does not bend the line.
func TestFitLeavesOutTheFarthest(t *testing.T) {
	var list []line.Sample
	for x := range 40 {
		list = append(list, line.Sample{X: float64(x), Y: 100 + 7*float64(x)})
	}
	list[30].Y = 1e6
	l := line.Fit(list)
	check.Equal(t, "at 10", 170, int(l.At(10)+0.5))
	check.Equal(t, "slope", 7, int(l.Slope+0.5))
}
