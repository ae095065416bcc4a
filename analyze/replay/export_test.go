package replay

// Differences returns the number of points, and of those that a replay without a change moves.
func (g *Graph) Differences() (points, moved int) {
	for p, at := range g.g.variant().run() {
		if at != g.g.at[p] {
			moved++
		}
	}
	return len(g.g.at), moved
}
