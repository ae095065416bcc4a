//go:build !race

package cases

// Race reports whether the race detector is compiled in.
const Race = false
