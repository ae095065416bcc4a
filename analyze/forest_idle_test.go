package analyze

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

func TestIdleCauses(t *testing.T) {
	// Each device is idle in [10,20), before an operation "next".
	first := opAt("first", 1, 0, 0, 10)
	next := opAt("next", 2, 0, 20, 30)
	tests := []struct {
		name      string
		specs     []spec
		threshold time.Duration
		want      IdleCause
	}{
		{name: "nothing is known of the launch", specs: []spec{first, next}, want: IdleOther},
		{name: "launched after the gap began", specs: []spec{first, next.launchedAt(11)}, want: IdleHost},
		{name: "launched as the gap began", specs: []spec{first, next.launchedAt(10)}, want: IdleQueue},
		{name: "launched before, the gap is as long as the threshold", specs: []spec{first, next.launchedAt(5)}, threshold: 10, want: IdleOther},
		{name: "launched before, the gap is shorter", specs: []spec{first, next.launchedAt(5)}, threshold: 11, want: IdleQueue},
		{
			name:  "the span above began in the gap",
			specs: []spec{first, next.below(3), spanAt("request", 3, 0, 12, 40)},
			want:  IdleHost,
		},
		{
			name:  "the host's view above, beyond an operation on another device",
			specs: []spec{first, next.below(3), opAt("graph", 3, 4, 5, 40).on("cuda:1"), opAt("aten::mm", 4, 0, 12, 40).fromHost()},
			want:  IdleHost,
		},
		{
			name:  "the span above had ended",
			specs: []spec{first, next.below(3), spanAt("launch", 3, 0, 2, 9)},
			want:  IdleQueue,
		},
		{
			name:  "the span above was running",
			specs: []spec{first, next.below(3), spanAt("request", 3, 0, 0, 40)},
			want:  IdleOther,
		},
		{
			name:  "the span above has no start",
			specs: []spec{first, next.below(3), spanAt("request", 3, 0, 0, 40).withoutStart()},
			want:  IdleOther,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			idle := addTo(NewForest(), tt.specs...).idle(idleOptions{threshold: tt.threshold})
			want := []IdleGap{{
				DeviceKey: DeviceKey{DeviceID: "cuda:0"}, StartNS: 10, DurationNS: 10, Cause: tt.want, After: "first", Before: "next",
			}}
			if diff := gocmp.Diff(want, idle.Longest); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		})
	}
}

func (s spec) below(parent uint64) spec { s.parent = parent; return s }

func TestIdleLongest(t *testing.T) {
	forest := NewForest()
	at := int64(0)
	for i := range 1000 {
		forest.Add(opAt("op", uint64(i+1), 0, at, at+1).record())
		at += 1 + int64(i%100) // gaps of 0 to 99 ns, ten times each
	}
	idle := forest.idle(idleOptions{top: 12})
	var got []int64
	for _, g := range idle.Longest {
		got = append(got, g.DurationNS)
	}
	if want := []int64{99, 99, 99, 99, 99, 99, 99, 99, 99, 98, 98, 98}; !slices.Equal(got, want) {
		t.Errorf("longest gaps %v, want %v", got, want)
	}
	if !slices.IsSortedFunc(idle.Longest[:9], func(a, b IdleGap) int { return cmp.Compare(a.StartNS, b.StartNS) }) {
		t.Errorf("gaps of the same length are not in the order of time: %+v", idle.Longest)
	}
	if n := len(forest.idle(idleOptions{}).Longest); n != defaultIdleTop {
		t.Errorf("%d gaps by default, want %d", n, defaultIdleTop)
	}
	if n := len(forest.idle(idleOptions{top: -1}).Longest); n != 0 {
		t.Errorf("%d gaps, want none", n)
	}
	if got := forest.idle(idleOptions{}).ThresholdNS; got != 30_000 {
		t.Errorf("default threshold %d ns, want 30000", got)
	}
}

// naiveGaps finds the gaps of a device nanosecond by nanosecond.
func naiveGaps(n *naiveTree, key DeviceKey, threshold int64) []IdleGap {
	var rows []int
	for i, s := range n.specs {
		if s.deviceSide() && s.deviceKey() == key && !s.timeless {
			rows = append(rows, i)
		}
	}
	slices.SortFunc(rows, n.compareStart)
	var gaps []IdleGap
	reached := -1
	for _, r := range rows {
		if reached >= 0 && n.specs[r].start > n.specs[reached].end {
			from, to := n.specs[reached].end, n.specs[r].start
			gaps = append(gaps, IdleGap{
				DeviceKey: key, StartNS: from, DurationNS: to - from, Cause: naiveCause(n, r, from, to-from < threshold),
				After: n.specs[reached].name, Before: n.specs[r].name,
			})
		}
		if reached < 0 || n.specs[r].end > n.specs[reached].end {
			reached = r
		}
	}
	return gaps
}

func naiveCause(n *naiveTree, r int, from int64, short bool) IdleCause {
	earliest, latest := n.specs[r].launch, n.specs[r].launch
	if !earliest.Known {
		host := n.parent[r]
		for host >= 0 && n.specs[host].deviceSide() {
			host = n.parent[host]
		}
		if host < 0 || n.specs[host].timeless {
			return IdleOther
		}
		earliest, latest = op.Known(n.specs[host].start), op.Known(n.specs[host].end)
	}
	switch {
	case earliest.V > from:
		return IdleHost
	case latest.V <= from && short:
		return IdleQueue
	}
	return IdleOther
}

func TestIdleAgainstNaive(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, r.IntN(15))
		forest, naive := addTo(NewForest(), specs...), newNaiveTree(specs)
		idle := forest.idle(idleOptions{threshold: 20, top: 5})

		want := []IdleGap{}
		for _, key := range devicesOf(specs) {
			want = append(want, naiveGaps(naive, key, 20)...)
		}
		total := int64(0)
		for _, g := range want {
			total += g.DurationNS
		}
		slices.SortStableFunc(want, func(a, b IdleGap) int { return cmp.Compare(b.DurationNS, a.DurationNS) })
		want = want[:min(len(want), 5)]
		if diff := gocmp.Diff(want, idle.Longest); diff != "" {
			t.Errorf("seed %d: gaps (-want +got):\n%s", seed, diff)
		}
		idleTime := int64(0)
		for _, line := range forest.timelines() {
			if line.Parts != nil {
				idleTime += line.Parts.Idle
			}
		}
		sum := int64(0)
		for _, d := range idle.Devices {
			sum += d.Host.SumNS + d.Queue.SumNS + d.Other.SumNS
		}
		if sum != idleTime || sum != total {
			t.Errorf("seed %d: gaps by cause add up to %d ns, the gaps to %d, the idle time is %d", seed, sum, total, idleTime)
		}
	})
}
