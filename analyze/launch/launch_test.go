package launch

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func forestOf(entries []op.Entry) *trace.Forest {
	f := trace.New()
	for i := range entries {
		f.Add(op.Record{Entry: &entries[i]})
	}
	return f
}

// The parts of a path add up to its duration, the causes of gaps to the idle time of the stream, and depths agree with
// a count at each change.
func TestLaunchesAddUp(t *testing.T) {
	cases.Inputs(t, 50, 5000, func(seed uint64, rng *rand.Rand) {
		entries := tracetest.Launches(rng, 1+rng.IntN(60))
		l := Find(forestOf(entries), 20)
		known := int64(0)
		for i := range entries {
			if entries[i].Launch.Known {
				known++
			}
		}
		if l == nil {
			if known > 0 {
				t.Fatalf("seed %d: nothing of %d launches", seed, known)
			}
			return
		}
		count := int64(0)
		for i := range l.Streams {
			s := &l.Streams[i]
			count += s.Count
			if i > 0 && cmp.Or(l.Streams[i-1].Key.Compare(s.Key), order.Ints(l.Streams[i-1].Stream, s.Stream)) >= 0 {
				t.Fatalf("seed %d: %v %v behind %v", seed, s.Key, s.Stream, l.Streams[i-1].Stream)
			}
			checkStream(t, s, entries)
		}
		check.Equal(t, fmt.Sprintf("seed %d: launches", seed), [2]int64{known, known}, [2]int64{count, l.Count})
		p := l.Path
		b := p.BoundBy
		sum := b.ComputeNS + b.CommunicationNS + b.MemoryNS + b.OtherNS + b.HostNS + b.IdleNS + p.LaunchNS + p.QueueNS
		if sum != p.DurationNS || p.DurationNS < 0 {
			t.Fatalf("seed %d: the parts are %d, the path %d: %+v", seed, sum, p.DurationNS, p)
		}
	})
}

func callEnd(e op.Entry) int64 {
	took := int64(0)
	for _, a := range e.Attrs {
		took, _ = strconv.ParseInt(a.Value, 10, 64)
	}
	return e.Launch.V + took
}

func checkStream(t *testing.T, s *Stream, entries []op.Entry) {
	t.Helper()
	var of []op.Entry
	for _, e := range entries {
		if e.DeviceID == s.DeviceID && e.Stream == s.Stream {
			of = append(of, e)
		}
	}
	overhead := []int64{}
	// late is the idle time before operations whose launching call ended after the beginning of the gap.
	var idle, late, depth int64
	for i, e := range of {
		waiting, latest := int64(0), int64(-1) // the latest end of earlier operations
		for k, o := range of {
			earlier := o.Start.V < e.Start.V || o.Start == e.Start &&
				(o.Duration < e.Duration || o.Duration == e.Duration && k < i)
			if earlier {
				latest = max(latest, o.Start.V+o.Duration)
			}
			if o.Launch.Known && o.Launch.V <= e.Launch.V && e.Launch.V < o.Start.V {
				waiting++
			}
		}
		if e.Launch.Known && e.Launch.V < e.Start.V {
			depth = max(depth, waiting)
		}
		held := !e.Launch.Known || e.Launch.V > e.Start.V || latest > e.Launch.V
		for _, o := range entries {
			end := o.Start.V + o.Duration
			held = held || o.DeviceID == e.DeviceID && o.Stream != e.Stream && end > e.Launch.V && end <= e.Start.V &&
				end > e.Start.V-30_000 && (end < e.Start.V+e.Duration || o.Start.V < e.Start.V)
		}
		if !held {
			overhead = append(overhead, max(0, e.Start.V-callEnd(e)))
		}
		if latest >= 0 && latest < e.Start.V {
			idle += e.Start.V - latest
			if e.Launch.Known && callEnd(e) > latest {
				late += e.Start.V - latest
			}
		}
	}
	slices.Sort(overhead)
	if o := s.Overhead; o.Count != int64(len(overhead)) || o.Count > 0 &&
		(o.MedianNS.V != overhead[(o.Count-1)/2] || o.MaxNS != overhead[o.Count-1]) {
		t.Fatalf("%v: overhead %+v, want %v", s.Stream, o, overhead)
	}
	got := s.Idle.Host.SumNS + s.Idle.Dependency.SumNS + s.Idle.Queue.SumNS + s.Idle.Other.SumNS
	check.Equal(t, fmt.Sprint(s.Stream, ": idle"), idle, got)
	check.Equal(t, fmt.Sprint(s.Stream, ": idle by the host"), late, s.Idle.Host.SumNS)
	check.Equal(t, fmt.Sprint(s.Stream, ": depth"), depth, s.MaxDepth)
}

// Operations without duration at the same time do not lead the path in circles.
func TestPathEndsAtOperationsWithoutDuration(t *testing.T) {
	entries := make([]op.Entry, 50)
	for i := range entries {
		entries[i] = op.Entry{
			Operation: "op", DeviceID: "cuda:0", Stream: op.Known(int64(i % 3)), Start: op.Known(100),
			Launch: op.Known(100),
		}
	}
	entries[0].Launch = op.Known(150)
	l := Find(forestOf(entries), 10)
	check.Equal(t, "", [3]int64{0, 1, 50}, [3]int64{l.Path.DurationNS, l.Early, l.EarlyMaxNS})
}
