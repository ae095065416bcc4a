package race

// Fewer returns n, or under the race detector a fifth of it and at least 1: how many cases a
// test of one goroutine looks at.
func Fewer(n int) int {
	if Enabled {
		return max(1, n/5)
	}
	return n
}
