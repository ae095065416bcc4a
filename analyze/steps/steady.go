package steps

import (
	"math/bits"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/sketch"
)

// Steady is the part of a loop with steps of similar times, each to the start of the next.
type Steady struct {
	// Service is the service of the loop, "" if not stated.
	Service string `json:"service,omitempty"`
	// FirstStep and LastStep are the numbers of its first and last step.
	FirstStep int64 `json:"first_step"`
	LastStep  int64 `json:"last_step"`
	// Steps counts its steps, LeftOut the others, and MedianNS is the median time in nanoseconds.
	Steps    int64 `json:"steps"`
	LeftOut  int64 `json:"left_out"`
	MedianNS int64 `json:"median_ns"`
}

const (
	steadyWindow = 5 // steps per level
	leastSteady  = 8 // least number of steps
	// The highest level of a steady state is at most mostSteady/leastLevel times its lowest.
	mostSteady = 6
	leastLevel = 5
)

// SteadyOf returns the longest run of steps of one loop without a change of level, the first among equals, nil for
// fewer than eight steps. A level is the median time of five steps in a row. The highest level of a run is at most
// 1.2 times the lowest. Steps at either end farther from the median of the run are cut off.
//
//	time      90 50 | 10 11 10 10 35 10 11 10 | 30 31 30 30 31
//	steady            1  2  3  4  5  6  7  8
func SteadyOf(rows []Row) *Steady {
	var best *Steady
	for loop := range order.RunsOf(rows, serviceOf) {
		if s := steadyOf(loop); s != nil && (best == nil || s.Steps > best.Steps) {
			best = s
		}
	}
	if best != nil {
		best.LeftOut = int64(len(rows)) - best.Steps
	}
	return best
}

func serviceOf(r *Row) string { return r.Service }

// steadyOf returns the steady state of the first run of one loop.
func steadyOf(rows []Row) *Steady {
	var loop []Row
	for _, r := range rows {
		if r.ToNextNS.Known && r.Run == 1 {
			loop = append(loop, r)
		}
	}
	if len(loop) < leastSteady {
		return nil
	}
	walls := make([]int64, len(loop))
	for i, r := range loop {
		walls[i] = r.ToNextNS.V
	}
	from, to := longestLevel(levels(walls))
	if to == 0 {
		return nil
	}
	to += steadyWindow - 1
	median := sketch.Median(walls[from:to])
	for from < to && !sameLevel(walls[from], median) {
		from++
	}
	for from < to && !sameLevel(walls[to-1], median) {
		to--
	}
	if to-from < leastSteady {
		return nil
	}
	return &Steady{
		Service: loop[0].Service, FirstStep: loop[from].Step, LastStep: loop[to-1].Step, Steps: int64(to - from),
		MedianNS: sketch.Median(walls[from:to]),
	}
}

func levels(walls []int64) []int64 {
	medians := make([]int64, len(walls)-steadyWindow+1)
	for i := range medians {
		medians[i] = sketch.Median(walls[i : i+steadyWindow])
	}
	return medians
}

// longestLevel returns the longest run of levels within the ratio. Two queues hold the places of candidates for the
// run's lowest and highest level: linear time, even if 100,000 steps drift.
func longestLevel(levels []int64) (from, to int) {
	var low, high []int
	start := 0
	for i, v := range levels {
		for len(low) > 0 && levels[low[len(low)-1]] >= v {
			low = low[:len(low)-1]
		}
		for len(high) > 0 && levels[high[len(high)-1]] <= v {
			high = high[:len(high)-1]
		}
		low = append(low, i)
		high = append(high, i)
		for !sameLevel(levels[low[0]], levels[high[0]]) {
			start++
			if low[0] < start {
				low = low[1:]
			}
			if high[0] < start {
				high = high[1:]
			}
		}
		if i+1-start > to-from {
			from, to = start, i+1
		}
	}
	return from, to
}

func sameLevel(a, b int64) bool {
	highA, lowA := bits.Mul64(uint64(max(a, b)), leastLevel)
	highB, lowB := bits.Mul64(uint64(min(a, b)), mostSteady)
	return highA < highB || highA == highB && lowA <= lowB
}

// Holds reports whether a step of a service is part of the steady state.
func (s *Steady) Holds(service string, step int64) bool {
	return service == s.Service && s.FirstStep <= step && step <= s.LastStep
}

// Left returns the number of rows outside the steady state, 0 if the report is limited to it.
func (s *Steady) Left(rows []Row) int64 {
	if s == nil {
		return int64(len(rows))
	}
	return max(0, int64(len(rows))-s.Steps)
}
