package race

import "testing"

// Fewer returns n, or under the race detector a fifth of it and at least 1: how many cases a
// test of one goroutine looks at.
func Fewer(n int) int {
	if Enabled {
		return max(1, n/5)
	}
	return n
}

// OneGoroutine is why tests of one goroutine that would take minutes are skipped.
const OneGoroutine = "one goroutine: minutes under the race detector tell nothing of races"

// Skip skips a test under the race detector, and says why.
func Skip(t testing.TB, why string) {
	t.Helper()
	if Enabled {
		t.Skip(why)
	}
}
