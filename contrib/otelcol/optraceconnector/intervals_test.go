package optraceconnector

import (
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

// The sum equals a naive count of covered nanoseconds.
func TestIntervalsAgainstNaive(t *testing.T) {
	for seed := range cases.Numbers(t, 300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		bounded := intervals{most: 1 + rng.IntN(8)}
		exact := intervals{most: 1 << 20}
		covered := make(map[int64]bool)
		var sum, atMost int64
		for range 60 {
			start := rng.Int64N(400)
			end := start + rng.Int64N(30) - 2
			sum += exact.add(start, end)
			atMost += bounded.add(start, end)
			for ns := start; ns < end; ns++ {
				covered[ns] = true
			}
			if len(bounded.list) > bounded.most {
				t.Fatalf("seed %d: %d intervals, at most %d", seed, len(bounded.list), bounded.most)
			}
		}
		if sum != int64(len(covered)) || atMost > sum {
			t.Fatalf("seed %d: %d ns, with a bound %d; want %d", seed, sum, atMost, len(covered))
		}
	}
}

// The sum of sorted intervals is exact.
func TestIntervalsInOrder(t *testing.T) {
	few := intervals{most: 2}
	var sum int64
	for i := range int64(1000) {
		sum += few.add(10*i, 10*i+4)
	}
	check.Equal(t, "ns of 4000", 4000, sum)
}
