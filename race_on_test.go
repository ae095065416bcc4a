//go:build race

package optrace_test

// raceEnabled tells that the tests run under the race detector.
const raceEnabled = true
