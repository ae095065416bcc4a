package measure

import (
	"runtime"
	"time"
)

// Sample is what one run of a side cost.
type Sample struct {
	// N is how many units of work were done.
	N int64
	// CPU is the time of all processors, of all threads and of the kernel on
	// their behalf; Wall is the time that passed.
	CPU, Wall time.Duration
	// Allocs counts heap allocations, and Bytes is their size; 0 for work in another process.
	Allocs, Bytes uint64
	// RSS is the largest resident size in bytes; 0 where it was not looked at.
	RSS int64
	// Sum is what the work came to. Where two sides of a suite state one, they
	// must state the same; "" states none.
	Sum string
}

// Timed runs work, which does n units, in this process. CPU is that of the whole
// process: garbage collection and other goroutines count. A collection runs
// before, so that nobody pays for the garbage of others.
func Timed(n int64, work func() error) (Sample, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := processCPU(), time.Now()
	err := work()
	wall := time.Since(start)
	cpu = processCPU() - cpu
	runtime.ReadMemStats(&after)
	return Sample{
		N: n, CPU: cpu, Wall: wall, Allocs: after.Mallocs - before.Mallocs, Bytes: after.TotalAlloc - before.TotalAlloc,
	}, err
}

// Cost is what a unit of work costs.
type Cost struct{ NS, Bytes, Allocs float64 }

// CostOf returns the medians of processor time, bytes and allocations.
func CostOf(samples []Sample) Cost {
	median := func(of func(s Sample) float64) float64 {
		var values []float64
		for _, s := range samples {
			values = append(values, of(s)/float64(s.N))
		}
		return Median(values)
	}
	return Cost{
		NS:     median(func(s Sample) float64 { return float64(s.CPU.Nanoseconds()) }),
		Bytes:  median(func(s Sample) float64 { return float64(s.Bytes) }),
		Allocs: median(func(s Sample) float64 { return float64(s.Allocs) }),
	}
}
