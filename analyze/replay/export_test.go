package replay

import "github.com/optrace/optrace/analyze/internal/schedule"

// Differences returns the number of points, and of those that a replay without a change moves.
func (g *Graph) Differences() (points, moved int) {
	g.build()
	v := g.g.variant()
	v.Run()
	for node := range g.g.Nodes() {
		points++
		if p := schedule.Begin(node); v.Time(p) != g.g.At(p) {
			moved++
		}
	}
	return points, moved
}

// Complete finds the points and edges.
func (g *Graph) Complete() { g.build() }

// UnexplainedWithin returns the unexplained share and its bound.
func (g *Graph) UnexplainedWithin() (share, bound float64) {
	return g.unexplained(), g.mostUnexplained()
}
