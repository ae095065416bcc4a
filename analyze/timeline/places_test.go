package timeline_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
)

// The places of a list of any length add up to the idle time, and its parts with and without a record of the host.
func TestPlacesAgainstNaive(t *testing.T) {
	cases.Inputs(t, 100, 2000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, 1+r.IntN(someOrMany(r)))
		f := tracetest.AddTo(trace.New(), specs...)
		calls := addCalls(f, r)
		for _, top := range []int{-1, 1, 100} {
			var got [2]int64
			for _, p := range timeline.FirstPlaces(timeline.Idle(f, 0).Places, top) {
				host := int64(0)
				for _, ns := range p.HostNS {
					host += ns
				}
				got[0] += host
				got[1] += p.UntracedNS
				if p.SumNS != host+p.UntracedNS || p.NoRequestNS > p.SumNS || p.MaxNS*p.Count < p.SumNS {
					t.Errorf("seed %d: %+v does not add up", seed, p)
				}
			}
			check.Equal(t, fmt.Sprint("seed ", seed, ": traced, untraced"),
				naiveIdle(tracetest.NewNaiveTree(specs), calls), got)
		}
	})
}

// naiveIdle counts the idle nanoseconds of all devices with and without a record of the host.
func naiveIdle(n *tracetest.NaiveTree, calls []trace.Call) (ns [2]int64) {
	var counted []tracetest.Spec
	for i, s := range n.Specs {
		if !n.Repeat[i] {
			counted = append(counted, s)
		}
	}
	for _, key := range tracetest.DevicesOf(n.Specs) {
		ranked := false // the rank has host operations
		for i, s := range n.Specs {
			isRoot := n.NaiveOwner(i) == i && len(n.Children(i)) > 0
			ranked = ranked || !s.DeviceSide() && !s.Timeless && !n.Repeat[i] && s.End > s.Start && !isRoot &&
				key.Rank.Known && naiveRank(n, i) == key.Rank
		}
		first, last, _ := tracetest.Extent(tracetest.OnDevice(counted, key))
		for at := first; at < last; at++ {
			busy := false
			traced := lastCall(calls, key.Rank, at) != nil
			for i, s := range n.Specs {
				switch {
				case n.Repeat[i] || !s.RunsAt(at) || n.NaiveOwner(i) == i && len(n.Children(i)) > 0:
				case s.DeviceSide():
					busy = busy || s.DeviceKey() == key
				default:
					traced = traced || !ranked || naiveRank(n, i) == key.Rank
				}
			}
			switch {
			case busy:
			case traced:
				ns[0]++
			default:
				ns[1]++
			}
		}
	}
	return ns
}

// A place has the names of the outermost operators around the idle time, or of the waiting call.
func TestPlacesHaveNames(t *testing.T) {
	host := func(name string, id, parent uint64, from, to int64) tracetest.Spec {
		return tracetest.OpAt(name, id, parent, from, to).FromHost()
	}
	f := tracetest.AddTo(trace.New(),
		host("step", 1, 0, 0, 1000),
		host("item", 2, 1, 0, 35), host("local", 3, 2, 5, 34), tracetest.OpAt("copy", 4, 3, 20, 30),
		host("mul", 5, 1, 90, 100), tracetest.OpAt("mul kernel", 6, 5, 100, 110),
		host("sort", 7, 1, 105, 125), tracetest.OpAt("first pass", 8, 7, 120, 130), tracetest.OpAt("second", 9,
			7, 135, 140),
		tracetest.OpAt("free", 10, 0, 240, 250))
	for _, c := range []op.Entry{
		{Operation: "cudaStreamSynchronize", Start: op.Known(25), Duration: 8, ParentSpanID: op.SpanID{1}},
		{Operation: "cudaDeviceSynchronize", Start: op.Known(126), Duration: 20},
	} {
		f.Add(op.Record{Call: &c})
	}
	golden.JSON(t, "testdata/places.json", timeline.FirstPlaces(timeline.Idle(f, 0).Places, 9))
}

// A device is idle without work of its service until the service has its request, also while the request is elsewhere.
func TestPlacesBeforeARequestComes(t *testing.T) {
	request := func(in byte, from, called, to int64) []tracetest.Spec {
		return []tracetest.Spec{
			tracetest.SpanAt("ask", 1, 0, from, to).In(in).Of("gateway"),
			tracetest.SpanAt("POST", 2, 1, from+10, to).In(in).Of("gateway"),
			tracetest.SpanAt("generate", 3, 2, called, to).In(in).Of("llm"),
			tracetest.SpanAt("model", 4, 3, called+5, to).In(in).Of("llm"),
			tracetest.OpAt("decode", 5, 4, called+20, to).In(in).Of("llm").On("cuda:0"),
		}
	}
	f := tracetest.AddTo(trace.New(), append(request(1, 0, 50, 100), request(2, 60, 150, 300)...)...)
	for _, p := range timeline.Idle(f, 0).Places {
		check.Equal(t, "idle, early", [2]int64{70, 50}, [2]int64{p.SumNS, p.EarlyNS})
	}
}
