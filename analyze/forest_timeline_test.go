package analyze

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

func TestTimelines(t *testing.T) {
	gpu := DeviceKey{DeviceID: "cuda:0"}
	tests := []struct {
		name  string
		specs []spec
		want  []timeline
	}{
		{name: "empty", want: []timeline{}},
		{
			name: "compute hides communication, which hides a copy",
			specs: []spec{
				opAt("matmul", 1, 0, 0, 50), opAt("all_reduce", 2, 0, 30, 80).as(op.KindCollective),
				opAt("memcpy", 3, 0, 90, 100).as(op.KindMemory),
			},
			want: []timeline{{gpu, &deviceParts{
				Span: 100, Busy: 90, Idle: 10, Compute: 50, ExposedCommunication: 30, ExposedMemory: 10,
				Communication: 50, Memory: 10, Overlap: 20,
			}}},
		},
		{
			name: "parallel work counts once, other kinds come last",
			specs: []spec{
				opAt("a", 1, 0, 0, 40), opAt("b", 2, 0, 10, 30), opAt("load", 3, 0, 20, 60).as(op.KindIO),
				opAt("sync", 4, 0, 50, 70).as(op.KindControl), opAt("memset", 5, 0, 65, 70).as(op.KindMemory),
			},
			want: []timeline{{gpu, &deviceParts{
				Span: 70, Busy: 70, Compute: 40, ExposedMemory: 5, Other: 25, Memory: 5,
			}}},
		},
		{
			name: "devices of the same name on two ranks, and no device at all",
			specs: []spec{
				opAt("a", 1, 0, 0, 10).onRank(1), opAt("a", 2, 0, 0, 20).onRank(0), opAt("a", 3, 0, 5, 6).on(""),
			},
			want: []timeline{
				{DeviceKey{DeviceID: UnknownDevice}, &deviceParts{Span: 1, Busy: 1, Compute: 1}},
				{DeviceKey{Rank: op.Known(0), DeviceID: "cuda:0"}, &deviceParts{Span: 20, Busy: 20, Compute: 20}},
				{DeviceKey{Rank: op.Known(1), DeviceID: "cuda:0"}, &deviceParts{Span: 10, Busy: 10, Compute: 10}},
			},
		},
		{
			name: "the host's view is not on the device, and without starts there is no timeline",
			specs: []spec{
				opAt("aten::mm", 1, 0, 0, 10).on("cpu").fromHost(), opAt("a", 2, 0, 0, 20).withoutStart(),
			},
			want: []timeline{{DeviceKey: gpu}},
		},
		{
			name: "B5: a clock that steps back makes no negative gap",
			specs: []spec{
				opAt("a", 1, 0, 100, 110), opAt("b", 2, 0, 50, 60), opAt("c", 3, 0, 105, 120),
			},
			want: []timeline{{gpu, &deviceParts{Span: 70, Busy: 30, Idle: 40, Compute: 30}}},
		},
		{
			name:  "no duration",
			specs: []spec{opAt("a", 1, 0, 10, 10), opAt("b", 2, 0, 10, 10)},
			want:  []timeline{{gpu, &deviceParts{}}},
		},
		{
			name:  "the whole range of times",
			specs: []spec{opAt("a", 1, 0, -maxTime, -maxTime), opAt("b", 2, 0, maxTime, maxTime)},
			want:  []timeline{{gpu, &deviceParts{Span: 2 * maxTime, Idle: 2 * maxTime}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, addTo(NewForest(), tt.specs...).timelines()); diff != "" {
				t.Errorf("timelines (-want +got):\n%s", diff)
			}
		})
	}
}

// naiveParts looks at every nanosecond.
func naiveParts(specs []spec) *deviceParts {
	first, last, ok := extent(specs)
	if !ok {
		return nil
	}
	p := &deviceParts{Span: last - first}
	for at := first; at < last; at++ {
		runs := func(kinds ...op.Kind) bool {
			return slices.ContainsFunc(specs, func(s spec) bool { return s.runsAt(at) && slices.Contains(kinds, s.kind) })
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
		specs := randomSpecs(r, r.IntN(40))
		got := addTo(NewForest(), specs...).timelines()
		want := []timeline{}
		for _, key := range devicesOf(specs) {
			want = append(want, timeline{key, naiveParts(onDevice(specs, key))})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: timelines (-want +got):\n%s", seed, diff)
		}
	})
}

func TestPartsAddUpToSpan(t *testing.T) {
	cases.Seeds(t, 100, func(seed uint64, r *rand.Rand) {
		forest := NewForest()
		for range 500 {
			s := randomSpec(r, 500)
			s.start = r.Int64N(1 << 40)
			s.end = s.start + r.Int64N(1<<uint(1+r.IntN(34)))
			forest.Add(s.record())
		}
		for _, line := range forest.timelines() {
			p := line.Parts
			if sum := p.Compute + p.ExposedCommunication + p.ExposedMemory + p.Other + p.Idle; sum != p.Span {
				t.Errorf("seed %d: the parts of %v add up to %d, want %d", seed, line.DeviceKey, sum, p.Span)
			}
			if p.Busy+p.Idle != p.Span || p.Overlap > p.Communication || p.Overlap > p.Compute {
				t.Errorf("seed %d: parts of %v contradict each other: %+v", seed, line.DeviceKey, *p)
			}
		}
	})
}

func TestOverlapRatio(t *testing.T) {
	if _, ok := (&deviceParts{Compute: 10}).overlapRatio(); ok {
		t.Error("there is a ratio without communication")
	}
	if ratio, ok := (&deviceParts{Communication: 50, Overlap: 20}).overlapRatio(); !ok || ratio != 0.4 {
		t.Errorf("ratio = %g, %t; want 0.4, true", ratio, ok)
	}
}

func TestDeviceLabel(t *testing.T) {
	tests := []struct {
		key      DeviceKey
		withRank bool
		want     string
	}{
		{DeviceKey{Rank: op.Known(0), DeviceID: "cuda:0"}, true, "0/cuda:0"},
		{DeviceKey{Rank: op.Known(0), DeviceID: "cuda:0"}, false, "cuda:0"},
		{DeviceKey{DeviceID: "cuda:0"}, true, "cuda:0"},
		{DeviceKey{DeviceID: "cuda:0", Service: "trainer"}, true, "trainer cuda:0"},
		{DeviceKey{DeviceID: "cuda:0", Service: "trainer"}, false, "trainer cuda:0"},
	}
	for _, tt := range tests {
		if got := tt.key.Label(tt.withRank); got != tt.want {
			t.Errorf("label of %v = %q, want %q", tt.key, got, tt.want)
		}
	}
	if severalRanks(addTo(NewForest(), opAt("a", 1, 0, 0, 1).onRank(2))) {
		t.Error("one rank is several")
	}
	if !severalRanks(addTo(NewForest(), opAt("a", 1, 0, 0, 1).onRank(2), opAt("a", 2, 0, 0, 1).onRank(3))) {
		t.Error("two ranks are not several")
	}
}

func severalRanks(f *Forest) bool {
	f.build()
	return f.onDevice.ranks
}
