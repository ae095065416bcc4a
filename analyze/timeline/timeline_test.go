package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func TestTimelineOfAllTimes(t *testing.T) {
	forest := tracetest.AddTo(trace.New(),
		tracetest.OpAt("a", 1, 0, -trace.MaxTime, -trace.MaxTime),
		tracetest.OpAt("b", 2, 0, trace.MaxTime, trace.MaxTime))
	want := []Timeline{{device.Key{DeviceID: "cuda:0"}, &Parts{Span: 2 * trace.MaxTime, Idle: 2 * trace.MaxTime}}}
	check.Equal(t, "timelines", want, Timelines(forest))
}

// naiveParts examines every nanosecond.
func naiveParts(specs []tracetest.Spec) *Parts {
	first, last, ok := tracetest.Extent(specs)
	if !ok {
		return nil
	}
	p := &Parts{Span: last - first}
	for at := first; at < last; at++ {
		runs := func(kinds ...op.Kind) bool {
			return slices.ContainsFunc(specs,
				func(s tracetest.Spec) bool { return s.RunsAt(at) && slices.Contains(kinds, s.Kind) })
		}
		compute := runs(op.KindCompute)
		communication := runs(op.KindCollective)
		memory := runs(op.KindMemory)
		other := runs(op.KindIO, op.KindControl, op.KindUnknown)
		count := func(n *int64, happens bool) {
			if happens {
				*n++
			}
		}
		count(&p.Busy, compute || communication || memory || other)
		count(&p.Idle, !compute && !communication && !memory && !other)
		count(&p.Compute, compute)
		count(&p.ExposedCommunication, communication && !compute)
		count(&p.ExposedMemory, memory && !communication && !compute)
		count(&p.Other, other && !memory && !communication && !compute)
		count(&p.Communication, communication)
		count(&p.Memory, memory)
		count(&p.Overlap, communication && compute)
	}
	return p
}

func TestTimelinesAgainstNaive(t *testing.T) {
	cases.Inputs(t, 50, 500, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(40))
		got := Timelines(tracetest.AddTo(trace.New(), specs...))
		want := []Timeline{}
		for _, key := range tracetest.DevicesOf(specs) {
			want = append(want, Timeline{key, naiveParts(tracetest.OnDevice(specs, key))})
		}
		check.Equal(t, fmt.Sprintf("seed %d: timelines", seed), want, got)
	})
}

func TestOverlapRatio(t *testing.T) {
	if _, ok := (&Parts{Compute: 10}).OverlapRatio(); ok {
		t.Error("there is a ratio without communication")
	}
	if ratio, ok := (&Parts{Communication: 50, Overlap: 20}).OverlapRatio(); !ok || ratio != 0.4 {
		t.Errorf("ratio = %g, %t; want 0.4, true", ratio, ok)
	}
}
