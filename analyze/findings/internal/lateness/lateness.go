// Package lateness tells devices that are always late from those with pauses.
package lateness

// InMostSteps reports whether the lateness of a device in the consecutive blocks of a run is spread over the steps: three
// quarters of them have a quarter of the mean or more. Without known steps each block is one.
func InMostSteps(blocks [][]int64, device int, steps int64) bool {
	n := len(blocks)
	if rounds := int(steps); rounds > 0 {
		n = min(n, rounds)
	}
	ofStep := make([]int64, n)
	all := int64(0)
	for i, block := range blocks {
		ofStep[i*n/len(blocks)] += block[device]
		all += block[device]
	}
	short := 0
	for _, ns := range ofStep {
		if 4*ns*int64(n) < all {
			short++
		}
	}
	return 4*short < n
}
