package queue_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/replay/internal/queue"
)

// launch simulates a queue of so many operations: streams take turns, each with its time, and a launch waits for the
// end of the operation size before, or for all but size to end.
func launch(n, size int, byNumber bool, streams ...int64) (all []queue.Launch) {
	const call, gap = 5_000, 1_000
	free := make([]int64, len(streams))
	var ended []int64 // not before the launches so far
	at := int64(0)
	for i := range n {
		start := at
		at += call
		switch {
		case i < size:
		case byNumber:
			for {
				open := 0
				next := int64(1) << 62
				for _, done := range ended {
					if done > at {
						open++
						next = min(next, done)
					}
				}
				if open < size {
					break
				}
				at = next + 1
			}
		default:
			at = max(at, ended[i-size]+2_000)
		}
		s := i % len(streams)
		free[s] = max(at, free[s]) + streams[s] + gap
		ended = append(ended, free[s])
		all = append(all, queue.Launch{Start: start, End: at, Done: free[s]})
		at += call
	}
	return all
}

// A launch into a full queue waits for the operation launched as far before as the queue is long, on any stream, or for
// the number of operations in it. A queue that never fills up holds no launch.
func TestALaunchWaitsForRoomInAFullQueue(t *testing.T) {
	for _, test := range []struct {
		name     string
		launches []queue.Launch
		behind   int // of a launch, 0 for no waits
	}{
		{"one stream", launch(3000, 1020, false, 60_000), 1020},
		{"long operations", launch(2000, 1000, false, 400_000), 1000},
		{"a stream far behind", launch(4000, 1020, false, 10_000, 10_000, 10_000, 150_000), 1020},
		{"fast operations", launch(3000, 1020, false, 4_000), 0},
		{"few launches", launch(800, 1020, false, 60_000), 0},
		{"by their number", launch(2500, 950, true, 300_000), 950},
	} {
		waits := queue.Full(test.launches)
		if test.behind == 0 || len(waits) < len(test.launches)-test.behind-20 {
			if len(waits) > 0 || test.behind > 0 {
				t.Errorf("%s: %d waits", test.name, len(waits))
			}
			continue
		}
		wrong := 0
		for _, w := range waits {
			if w.Launch-w.For != test.behind {
				wrong++
			}
		}
		if wrong > len(waits)/50 {
			t.Errorf("%s: %d of %d waits are not %d launches apart", test.name, wrong, len(waits), test.behind)
		}
	}
}
