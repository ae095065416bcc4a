//go:build race

package analyze

// raceEnabled tells that memory is not what is measured: the race detector
// multiplies it.
const raceEnabled = true
