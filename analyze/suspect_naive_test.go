package analyze

import (
	"fmt"
	"math/rand/v2"

	"github.com/optrace/optrace/op"
)

// Durations in nanoseconds.
const (
	us = 1_000
	ms = 1_000_000
)

// naiveSuspects are the suspects by their definitions: every operation is
// compared with every other.
func naiveSuspects(specs []spec) (durations, clock []int32) {
	tree := newNaiveTree(specs)
	isWithin := func(i, above int) bool { // itself, by their ids, or below it
		original := func(i int) int {
			if tree.duplicate[i] {
				return tree.lookUp(specs[i].trace, specs[i].id)
			}
			return i
		}
		for at := original(i); at >= 0; at = tree.parent[at] {
			if at == original(above) {
				return true
			}
		}
		return false
	}
	apart := servicesOf(specs, "cuda:0") > 1
	key := func(s spec) DeviceKey {
		k := deviceOf(s.entry())
		if !apart {
			k.Service = ""
		}
		return k
	}
	takesPart := func(i int) bool {
		return specs[i].deviceSide() && specs[i].stream.Known && !specs[i].timeless && !tree.repeat[i]
	}
	for i, a := range specs {
		suspect := false
		for j, b := range specs {
			if i == j || !takesPart(i) || !takesPart(j) || key(a) != key(b) || a.stream != b.stream {
				continue
			}
			later := b.start > a.start || b.start == a.start && j > i
			overlap := a.end - b.start
			if later && b.end < a.end && overlap >= 5000 && 100*overlap >= a.end-a.start && !isWithin(j, i) {
				suspect = true
			}
		}
		if suspect {
			durations = append(durations, int32(i))
		}
		if p := tree.parent[i]; p >= 0 && !a.timeless && !specs[p].timeless {
			begun := a.start
			if a.launch.Known {
				begun = min(begun, a.launch.V)
			}
			if a.start < specs[p].start-ms || begun > specs[p].end+ms {
				clock = append(clock, int32(i))
			}
		}
	}
	return durations, clock
}

// suspiciousSpecs are operations on streams, mostly one after the other, some
// of them nested, with durations, clocks and parents that some of them have
// wrong.
func suspiciousSpecs(r *rand.Rand, n int) []spec {
	specs := make([]spec, n)
	var now [3]int64 // of each stream
	services := pick(r, []string{""}, []string{"", "api"}, []string{"", "api", "batch"})
	for i := range specs {
		stream := r.IntN(len(now))
		start := now[stream] + r.Int64N(3)*r.Int64N(4*us)
		s := opAt(fmt.Sprint("op", i), uint64(i+1), 0, start, start+r.Int64N(40*us)).onStream(int64(stream)).of(services[r.IntN(len(services))])
		now[stream] = s.end
		if i > 0 && r.IntN(3) > 0 {
			above := specs[r.IntN(i)]
			s.parent = above.id
			if r.IntN(2) == 0 { // one of its parts, on whatever stream
				s.start = above.start + r.Int64N(above.end-above.start+1)
				s.end = s.start + r.Int64N(above.end-s.start+1)
				s.stream = above.stream
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

// damaged returns s, which rarely has something wrong with it.
func damaged(r *rand.Rand, s spec, n int) spec {
	switch r.IntN(22) {
	case 0:
		s.end += r.Int64N(200) * us // a duration that is too long
	case 1:
		s.end += r.Int64N(5 * ms)
	case 2:
		skew := r.Int64N(6*ms) - 3*ms
		s.start, s.end = s.start+skew, s.end+skew
		if skew%2 == 0 {
			s.launch = op.Known(s.start - max(skew, -skew))
		}
	case 3:
		s.parent = uint64(1 + r.IntN(n)) // perhaps itself or one below it
	case 4:
		s.id = uint64(1 + r.IntN(n))
	case 5:
		s.stream = op.Int{}
	case 6:
		s.end = s.start
	case 7:
		return s.withoutStart()
	case 8:
		return s.fromHost()
	case 9:
		s.isOp = false
	case 10:
		s.end = s.start + (s.end-s.start)/us*us // so that ends meet
		s.start = s.start / us * us
		s.end = max(s.end, s.start)
	}
	return s
}

// servicesOf counts the services that have operations without a rank on a device.
func servicesOf(specs []spec, device string) int {
	services := map[string]bool{}
	naive := newNaiveTree(specs)
	for i, s := range specs {
		if s.deviceSide() && !naive.repeat[i] && s.device == device && !s.rank.Known && s.service != "" {
			services[s.service] = true
		}
	}
	return len(services)
}

// naiveReduced returns the specs that are not out. What is below one that is
// out hangs below the next one above that is not.
func naiveReduced(specs []spec, out []bool) []spec {
	tree := newNaiveTree(specs)
	var left []spec
	for i, s := range specs {
		if out[i] {
			continue
		}
		for at := tree.parent[i]; at >= 0 && out[at]; at = tree.parent[at] {
			s.parent = 0
			isOrphan := specs[at].isOp && !tree.duplicate[at] && tree.lookUp(specs[at].trace, specs[at].parent) < 0
			if tree.parent[at] >= 0 || isOrphan {
				s.parent = specs[at].parent
			}
		}
		left = append(left, s)
	}
	return left
}
