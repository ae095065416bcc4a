package measure

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

// Sample is the cost of one run of a side.
type Sample struct {
	N int64 // counts the units of work
	// CPU is the processor time of all threads, in the process and in the kernel; Wall is elapsed time.
	CPU, Wall time.Duration
	// Allocs counts heap allocations and Bytes is their size; both are 0 for other processes.
	Allocs, Bytes uint64
	// Sum describes the result. Sides of a suite with a sum must agree; "" states no sum.
	Sum string
}

// Timed measures work of n units in this process. The cost includes garbage collection and other
// goroutines. A collection runs before, so that no side pays for the garbage of another.
func Timed(n int64, work func() error) (Sample, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := processCPU()
	start := time.Now()
	err := work()
	wall := time.Since(start)
	cpu = processCPU() - cpu
	runtime.ReadMemStats(&after)
	return Sample{
		N: n, CPU: cpu, Wall: wall, Allocs: after.Mallocs - before.Mallocs, Bytes: after.TotalAlloc - before.TotalAlloc,
	}, err
}

// Command runs a program to its end and returns its cost and its output. The error includes the
// program's standard error.
func Command(ctx context.Context, n int64, name string, args ...string) (Sample, []byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, problems bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &problems
	start := time.Now()
	err := cmd.Run()
	s := Sample{N: n, Wall: time.Since(start)}
	if err != nil {
		const most = 2000
		text := bytes.TrimSpace(problems.Bytes())
		return s, nil, fmt.Errorf("%s: %w: %s", name, err, text[:min(len(text), most)])
	}
	s.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return s, out.Bytes(), nil
}

// Cost is the cost of a unit of work.
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
