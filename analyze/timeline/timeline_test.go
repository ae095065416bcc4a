package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

func TestTimelines(t *testing.T) {
	gpu := device.Key{DeviceID: "cuda:0"}
	tests := []struct {
		name  string
		specs []tracetest.Spec
		want  []Timeline
	}{
		{name: "empty", want: []Timeline{}},
		{
			name: "compute hides communication, which hides a copy",
			specs: []tracetest.Spec{
				tracetest.OpAt("matmul", 1, 0, 0, 50), tracetest.OpAt("all_reduce", 2, 0, 30, 80).As(op.KindCollective),
				tracetest.OpAt("memcpy", 3, 0, 90, 100).As(op.KindMemory),
			},
			want: []Timeline{{gpu, &Parts{
				Span: 100, Busy: 90, Idle: 10, Compute: 50, ExposedCommunication: 30, ExposedMemory: 10,
				Communication: 50, Memory: 10, Overlap: 20,
			}}},
		},
		{
			name: "parallel work counts once, other kinds come last",
			specs: []tracetest.Spec{
				tracetest.OpAt("a", 1, 0, 0, 40), tracetest.OpAt("b", 2, 0, 10, 30), tracetest.OpAt("load", 3, 0, 20, 60).As(op.KindIO),
				tracetest.OpAt("sync", 4, 0, 50, 70).As(op.KindControl), tracetest.OpAt("memset", 5, 0, 65, 70).As(op.KindMemory),
			},
			want: []Timeline{{gpu, &Parts{
				Span: 70, Busy: 70, Compute: 40, ExposedMemory: 5, Other: 25, Memory: 5,
			}}},
		},
		{
			name: "devices of the same name on two ranks, and no device at all",
			specs: []tracetest.Spec{
				tracetest.OpAt("a", 1, 0, 0, 10).OnRank(1), tracetest.OpAt("a", 2, 0, 0, 20).OnRank(0), tracetest.OpAt("a", 3, 0, 5, 6).On(""),
			},
			want: []Timeline{
				{device.Key{DeviceID: device.Unknown}, &Parts{Span: 1, Busy: 1, Compute: 1}},
				{device.Key{Rank: op.Known(0), DeviceID: "cuda:0"}, &Parts{Span: 20, Busy: 20, Compute: 20}},
				{device.Key{Rank: op.Known(1), DeviceID: "cuda:0"}, &Parts{Span: 10, Busy: 10, Compute: 10}},
			},
		},
		{
			name: "the host's view is not on the device, and without starts there is no timeline",
			specs: []tracetest.Spec{
				tracetest.OpAt("aten::mm", 1, 0, 0, 10).On("cpu").FromHost(), tracetest.OpAt("a", 2, 0, 0, 20).WithoutStart(),
			},
			want: []Timeline{{Key: gpu}},
		},
		{
			name: "B5: a clock that steps back makes no negative gap",
			specs: []tracetest.Spec{
				tracetest.OpAt("a", 1, 0, 100, 110), tracetest.OpAt("b", 2, 0, 50, 60), tracetest.OpAt("c", 3, 0, 105, 120),
			},
			want: []Timeline{{gpu, &Parts{Span: 70, Busy: 30, Idle: 40, Compute: 30}}},
		},
		{
			name:  "no duration",
			specs: []tracetest.Spec{tracetest.OpAt("a", 1, 0, 10, 10), tracetest.OpAt("b", 2, 0, 10, 10)},
			want:  []Timeline{{gpu, &Parts{}}},
		},
		{
			name: "the whole range of times",
			specs: []tracetest.Spec{tracetest.OpAt("a", 1, 0, -trace.MaxTime, -trace.MaxTime),
				tracetest.OpAt("b", 2, 0, trace.MaxTime, trace.MaxTime)},
			want: []Timeline{{gpu, &Parts{Span: 2 * trace.MaxTime, Idle: 2 * trace.MaxTime}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check.Equal(t, "timelines", tt.want, Timelines(tracetest.AddTo(trace.New(), tt.specs...)))
		})
	}
}

// naiveParts looks at every nanosecond.
func naiveParts(specs []tracetest.Spec) *Parts {
	first, last, ok := tracetest.Extent(specs)
	if !ok {
		return nil
	}
	p := &Parts{Span: last - first}
	for at := first; at < last; at++ {
		runs := func(kinds ...op.Kind) bool {
			return slices.ContainsFunc(specs, func(s tracetest.Spec) bool { return s.RunsAt(at) && slices.Contains(kinds, s.Kind) })
		}
		compute, communication, memory := runs(op.KindCompute), runs(op.KindCollective), runs(op.KindMemory)
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
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(40))
		got := Timelines(tracetest.AddTo(trace.New(), specs...))
		want := []Timeline{}
		for _, key := range tracetest.DevicesOf(specs) {
			want = append(want, Timeline{key, naiveParts(tracetest.OnDevice(specs, key))})
		}
		check.Equal(t, fmt.Sprintf("seed %d: timelines", seed), want, got)
	})
}

func TestPartsAddUpToSpan(t *testing.T) {
	cases.Seeds(t, 100, func(seed uint64, r *rand.Rand) {
		forest := trace.New()
		for range 500 {
			s := tracetest.RandomSpec(r, 500)
			s.Start = r.Int64N(1 << 40)
			s.End = s.Start + r.Int64N(1<<uint(1+r.IntN(34)))
			forest.Add(s.Record())
		}
		for _, line := range Timelines(forest) {
			p := line.Parts
			check.Equal(t, fmt.Sprintf("seed %d: the parts of %v add up to", seed, line.Key),
				p.Span, p.Compute+p.ExposedCommunication+p.ExposedMemory+p.Other+p.Idle)
			if p.Busy+p.Idle != p.Span || p.Overlap > p.Communication || p.Overlap > p.Compute {
				t.Errorf("seed %d: parts of %v contradict each other: %+v", seed, line.Key, *p)
			}
		}
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
