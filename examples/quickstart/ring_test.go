package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

func TestAllReduceIsTheSum(t *testing.T) {
	for devices := 1; devices <= 5; devices++ {
		for _, size := range []int{0, 1, 3, 4, 17, 100} {
			t.Run(fmt.Sprintf("%d devices, %d elements", devices, size), func(t *testing.T) {
				const rounds = 3 // calls must not mix
				rng := rand.New(rand.NewPCG(uint64(devices), uint64(size)))
				var data, want [rounds][][]float64
				for round := range rounds {
					sum := make([]float64, size)
					for range devices {
						own := make([]float64, size)
						for i := range own {
							own[i] = float64(rng.IntN(1000)) // sums of integers are exact
							sum[i] += own[i]
						}
						data[round] = append(data[round], own)
						want[round] = append(want[round], sum)
					}
				}
				r := newRing(devices)
				var wg sync.WaitGroup
				for device := range devices {
					wg.Go(func() {
						for round := range rounds {
							r.allReduce(device, data[round][device])
						}
					})
				}
				wg.Wait()
				for round := range rounds {
					if !slices.EqualFunc(data[round], want[round], slices.Equal) {
						t.Errorf("round %d: got %v, want %v", round, data[round], want[round])
					}
				}
			})
		}
	}
}
