//go:build race

package diff_test

// raceEnabled tells that everything takes long, and that fewer comparisons must do.
const raceEnabled = true
