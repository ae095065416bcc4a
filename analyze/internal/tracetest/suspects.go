package tracetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/op"
)

// Durations in nanoseconds.
const (
	Microsecond = 1_000
	Millisecond = 1_000_000
)

// NaiveSuspects returns the suspects by definition, comparing every pair of operations.
func NaiveSuspects(specs []Spec) (durations, clock []int32) {
	tree := NewNaiveTree(specs)
	original := func(i int) int {
		if tree.Duplicate[i] {
			return tree.LookUp(specs[i].Trace, specs[i].ID)
		}
		return i
	}
	apart := ServicesOf(specs, "cuda:0") > 1
	key := func(s Spec) device.Key {
		if apart {
			return device.Of(s.Entry())
		}
		return s.DeviceKey()
	}
	takesPart := func(i int) bool {
		return specs[i].DeviceSide() && specs[i].Stream.Known && !specs[i].Timeless && !tree.Repeat[i]
	}
	for i, a := range specs {
		suspect := false
		for j, b := range specs {
			if i == j || !takesPart(i) || !takesPart(j) || key(a) != key(b) || a.Stream != b.Stream {
				continue
			}
			later := b.Start > a.Start
			overlap := a.End - b.Start
			if later && b.End < a.End && overlap >= 5000 && 100*overlap >= a.End-a.Start &&
				!tree.isWithin(original(j), original(i)) {
				suspect = true
			}
		}
		if suspect {
			durations = append(durations, int32(i))
		}
		if p := tree.Parent[i]; p >= 0 && !a.Timeless && !specs[p].Timeless {
			begun := a.Start
			if a.Launch.Known {
				begun = min(begun, a.Launch.V)
			}
			if a.Start < specs[p].Start-Millisecond || begun > specs[p].End+Millisecond {
				clock = append(clock, int32(i))
			}
		}
	}
	return durations, clock
}

// SuspiciousSpecs returns operations on streams, mostly sequential, partly nested, some with wrong durations, clocks
// or parents.
func SuspiciousSpecs(r *rand.Rand, n int) []Spec {
	specs := make([]Spec, n)
	var now [3]int64 // of each stream
	services := Pick(r, []string{""}, []string{"", "api"}, []string{"", "api", "batch"})
	for i := range specs {
		stream := r.IntN(len(now))
		start := now[stream] + r.Int64N(3)*r.Int64N(4*Microsecond)
		s := OpAt(fmt.Sprint("op", i), uint64(i+1), 0, start, start+r.Int64N(40*Microsecond)).
			OnStream(int64(stream)).Of(services[r.IntN(len(services))])
		now[stream] = s.End
		if i > 0 && r.IntN(3) > 0 {
			above := specs[r.IntN(i)]
			s.Parent = above.ID
			if r.IntN(2) == 0 { // a part of it, on any stream
				s.Start = above.Start + r.Int64N(above.End-above.Start+1)
				s.End = s.Start + r.Int64N(above.End-s.Start+1)
				s.Stream = above.Stream
			}
		}
		specs[i] = damaged(r, s, n)
	}
	if r.IntN(2) == 0 {
		return specs
	}
	r.Shuffle(n, func(i, j int) { specs[i], specs[j] = specs[j], specs[i] })
	return specs
}

// damaged rarely changes s into something suspect.
func damaged(r *rand.Rand, s Spec, n int) Spec {
	switch r.IntN(22) {
	case 0:
		s.End += r.Int64N(200) * Microsecond // a duration that is too long
	case 1:
		s.End += r.Int64N(5 * Millisecond)
	case 2:
		skew := r.Int64N(6*Millisecond) - 3*Millisecond
		s.Start += skew
		s.End += skew
		if skew%2 == 0 {
			s.Launch = op.Known(s.Start - max(skew, -skew))
		}
	case 3:
		s.Parent = uint64(1 + r.IntN(n)) // possibly itself or a descendant
	case 4:
		s.ID = uint64(1 + r.IntN(n))
	case 5:
		s.Stream = op.Int{}
	case 6:
		s.End = s.Start
	case 7:
		return s.WithoutStart()
	case 8:
		return s.FromHost()
	case 9:
		s.IsOp = false
	case 10:
		s.End = s.Start + (s.End-s.Start)/Microsecond*Microsecond // makes ends meet
		s.Start = s.Start / Microsecond * Microsecond
		s.End = max(s.End, s.Start)
	}
	return s
}

// ServicesOf counts the services with unranked operations on a device.
func ServicesOf(specs []Spec, device string) int {
	services := map[string]bool{}
	naive := NewNaiveTree(specs)
	for i, s := range specs {
		if s.DeviceSide() && !naive.Repeat[i] && s.Device == device && !s.Rank.Known && s.Service != "" {
			services[s.Service] = true
		}
	}
	return len(services)
}

// NaiveReduced returns the specs not in out. Children of a removed spec move below the next remaining spec above.
func NaiveReduced(specs []Spec, out []bool) []Spec {
	tree := NewNaiveTree(specs)
	var left []Spec
	for i, s := range specs {
		if out[i] {
			continue
		}
		for at := tree.Parent[i]; at >= 0 && out[at]; at = tree.Parent[at] {
			s.Parent = 0
			isOrphan := specs[at].IsOp && !tree.Duplicate[at] && tree.LookUp(specs[at].Trace, specs[at].Parent) < 0
			if tree.Parent[at] >= 0 || isOrphan {
				s.Parent = specs[at].Parent
			}
		}
		left = append(left, s)
	}
	return left
}
