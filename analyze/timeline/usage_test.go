package timeline

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

func TestTimeAxis(t *testing.T) {
	tests := []struct {
		name    string
		specs   []tracetest.Spec
		buckets int
		want    TimeAxis
	}{
		{name: "nothing has a start", specs: []tracetest.Spec{tracetest.OpAt("a", 1, 0, 0, 5).WithoutStart()},
			buckets: 4},
		{name: "no duration", specs: []tracetest.Spec{tracetest.OpAt("a", 1, 0, 7, 7)}, buckets: 4,
			want: TimeAxis{7, 1, 1}},
		{name: "fewer nanoseconds than buckets", specs: []tracetest.Spec{tracetest.OpAt("a", 1, 0, 7, 10)},
			buckets: 10, want: TimeAxis{7, 1, 3}},
		{name: "the last bucket reaches beyond the end", specs: []tracetest.Spec{tracetest.OpAt("a", 1, 0, 0, 10)},
			buckets: 4,
			want:    TimeAxis{0, 3, 4}},
		{name: "rounding up leaves fewer buckets", specs: []tracetest.Spec{tracetest.OpAt("a", 1, 0, 0, 9)},
			buckets: 7, want: TimeAxis{0, 2, 5}},
		{name: "no buckets", specs: []tracetest.Spec{tracetest.OpAt("a", 1, 0, 0, 9)}, buckets: 0,
			want: TimeAxis{0, 9, 1}},
		{name: "too many buckets", specs: []tracetest.Spec{tracetest.OpAt("a", 1, 0, 0, 10*maxBuckets)},
			buckets: 1 << 30,
			want:    TimeAxis{0, 10, maxBuckets}},
		{
			name: "the whole range of times",
			specs: []tracetest.Spec{tracetest.OpAt("a", 1, 0, -trace.MaxTime, -trace.MaxTime),
				tracetest.OpAt("b", 2, 0, trace.MaxTime, trace.MaxTime)}, buckets: 3,
			want: TimeAxis{-trace.MaxTime, (2*trace.MaxTime + 2) / 3, 3},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			forest := tracetest.AddTo(trace.New(), tt.specs...)
			check.Equal(t, "axis", tt.want, UseOf(forest, tt.buckets).TimeAxis)
			check.Equal(t, "axis of memory", tt.want, MemoryOf(forest, tt.buckets).TimeAxis)
		})
	}
}

func TestConcurrencyIsBounded(t *testing.T) {
	forest := trace.New()
	for i := range uint64(maxConcurrency + 100) {
		forest.Add(tracetest.OpAt("a", i+1, 0, 0, 10).Record())
	}
	time := Concurrency(forest)[0].TimeNS
	if len(time) != maxConcurrency+1 || time[maxConcurrency] != 10 {
		t.Errorf("%d levels, %d ns at the highest", len(time), time[len(time)-1])
	}
}

func TestMemoryUseDoesNotOverflow(t *testing.T) {
	const most = 1<<63 - 1
	forest := tracetest.AddTo(trace.New(),
		tracetest.OpAt("a", 1, 0, 0, 40).Writing(most), tracetest.OpAt("b", 2, 0, 10, 60).Writing(most),
		tracetest.OpAt("c", 3, 0, 60, 80).Writing(5),
	)
	m := MemoryOf(forest, 4).Devices[0]
	check.Equal(t, "written", []int64{most, 0, 0, 5}, m.WrittenBytes)
	check.Equal(t, "running", []int64{most, most, most, 5}, m.RunningBytes)
}

func TestUseOverTimeAgainstNaive(t *testing.T) {
	cases.Inputs(t, 50, 500, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(30))
		forest := tracetest.AddTo(trace.New(), specs...)
		buckets := 1 + r.IntN(tracetest.Horizon)
		u := UseOf(forest, buckets)
		m := MemoryOf(forest, buckets)
		c := Concurrency(forest)
		d := 0
		for _, key := range tracetest.DevicesOf(specs) {
			mine := tracetest.OnDevice(specs, key)
			first, last, ok := tracetest.Extent(mine)
			if !ok {
				continue
			}
			busy := make([]int64, u.Buckets)
			written := make([]int64, u.Buckets)
			running := make([]int64, u.Buckets)
			levels := make([]int64, 1)
			for at := first; at < last; at++ {
				b := (at - u.StartNS) / u.WidthNS
				n := 0
				bytes := int64(0)
				for _, s := range mine {
					if s.RunsAt(at) {
						n++
						bytes += s.Memory
					}
				}
				busy[b] += int64(min(n, 1))
				running[b] = max(running[b], bytes)
				for n >= len(levels) {
					levels = append(levels, 0)
				}
				levels[n]++
			}
			for _, s := range mine {
				if !s.Timeless {
					written[min((s.Start-u.StartNS)/u.WidthNS, int64(u.Buckets-1))] += s.Memory
				}
			}
			check.Equal(t, fmt.Sprintf("seed %d: utilisation", seed), DeviceUtilisation{key, busy}, u.Devices[d])
			check.Equal(t, fmt.Sprintf("seed %d: memory", seed), DeviceMemory{key, written, running}, m.Devices[d])
			check.Equal(t, fmt.Sprintf("seed %d: concurrency", seed), DeviceConcurrency{key, levels}, c[d])
			d++
		}
		if len(u.Devices) != d || len(m.Devices) != d || len(c) != d {
			t.Errorf("seed %d: %d, %d and %d devices, want %d", seed, len(u.Devices), len(m.Devices), len(c), d)
		}
	})
}
