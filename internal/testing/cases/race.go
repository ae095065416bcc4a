package cases

import "testing"

// NotUnderRace skips a test under the race detector and logs why: it measures memory or allocations, which
// the detector changes, or it has one goroutine and takes minutes.
func NotUnderRace(t testing.TB, why string) {
	t.Helper()
	if Race {
		t.Skip(why)
	}
}

// OneGoroutine is the reason of slow tests with one goroutine.
const OneGoroutine = "one goroutine: minutes under the race detector tell nothing of races"
