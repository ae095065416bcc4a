package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
)

// part is a node of a test, with its times.
type part struct {
	parent, lane, join int32
	set                int16
	from, to           int64
}

func scheduleOf(parts ...part) *Schedule {
	var s Schedule
	s.Reset(len(parts))
	for _, p := range parts {
		s.Add(Node{Parent: p.parent, Lane: p.lane, Join: p.join, Sets: [2]int16{p.set, None}}, p.from, p.to)
	}
	s.Connect()
	return &s
}

// root is a span around everything else.
func root(to int64) part { return part{parent: None, lane: None, join: None, set: None, to: to} }

func TestRun(t *testing.T) {
	tests := []struct {
		name  string
		parts []part
		want  []int64 // without each of the sets 0 and 1
		edges Edges
	}{
		{
			"one after the other", []part{root(100), {0, 7, None, 0, 10, 40}, {0, 7, None, 1, 50, 90}},
			[]int64{70, 60}, Edges{Stream: 1},
		},
		{
			"side by side: the longer one decides", []part{root(100), {0, 1, None, 0, 0, 30}, {0, 2, None, 1, 0, 100}},
			[]int64{100, 30}, Edges{},
		},
		{
			"a stream's order holds across parents",
			[]part{
				root(100), {0, None, None, None, 0, 60}, {0, None, None, None, 0, 100},
				{1, 3, None, None, 0, 60}, {2, 4, None, 0, 0, 40}, {2, 3, None, 1, 60, 100},
			},
			[]int64{100, 60}, Edges{Stream: 1},
		},
		{
			"the last to arrive holds the others",
			[]part{root(100), {0, 1, None, 0, 0, 80}, {0, 1, 5, 1, 80, 100}, {0, 2, 5, 1, 0, 100}},
			[]int64{20, 80}, Edges{Stream: 1, Collective: 1},
		},
		{
			"what is below a span is in its time", []part{root(100), {0, None, None, 0, 0, 90}, {1, 1, None, 1, 20, 60}},
			[]int64{50, 60}, Edges{},
		},
	}
	for _, test := range tests {
		s := scheduleOf(test.parts...)
		check.Equal(t, fmt.Sprintf("%s: everything takes", test.name), test.parts[0].to, s.Run(None)[0])
		check.Equal(t, test.name, test.want, slices.Clone(s.Run(0, 1)))
		check.Equal(t, fmt.Sprintf("%s: edges", test.name), test.edges, s.Edges)
	}
}

// With everything in it a schedule takes what it took; without a set it takes no longer, and
// no less than the time in which nothing of the set ran.
func TestRunOfRandom(t *testing.T) {
	cases.Seeds(t, 300, func(seed uint64, r *rand.Rand) {
		parts := []part{root(1000)}
		for range r.IntN(30) {
			parent := int32(r.IntN(len(parts)))
			p := part{parent: parent, lane: int32(r.IntN(4)) - 1, join: None, set: int16(r.IntN(3)) - 1}
			if p.lane != None {
				p.join = int32(r.IntN(3)) - 1
			}
			above := parts[parent]
			if above.to-above.from < 2 {
				continue
			}
			p.from = above.from + r.Int64N(above.to-above.from-1)
			p.to = p.from + 1 + r.Int64N(above.to-p.from)
			parts = append(parts, p)
		}
		s := scheduleOf(parts...)
		check.Equal(t, fmt.Sprintf("seed %d: everything takes", seed), 1000, s.Run(None)[0])
		for set := range int16(2) {
			least := int64(1000)
			for _, p := range parts {
				if p.set == set {
					least -= p.to - p.from
				}
			}
			if got := s.Run(set)[0]; got > 1000 || got < least {
				t.Errorf("seed %d: %d without set %d, want %d to 1000", seed, got, set, least)
			}
		}
		check.Equal(t, fmt.Sprintf("seed %d: everything takes: behind other runs", seed), 1000, s.Run(None)[0])
	})
}

// A node that is shorter without a set counts with it, and ends earlier.
func TestSave(t *testing.T) {
	var s Schedule
	for range 2 { // the memory is used again
		s.Reset(0)
		s.Add(Node{Parent: None, Lane: None, Join: None, Sets: [2]int16{None, None}}, 0, 100)
		s.Add(Node{Parent: 0, Lane: None, Join: None, Sets: [2]int16{None, None}}, 10, 60)
		s.Save([]int64{0, 30})
		s.Connect()
		counts := []int64{9, 9}
		if saved := s.Count(counts); !saved || !slices.Equal(counts, []int64{0, 1}) {
			t.Errorf("counts %v, others %v", counts, saved)
		}
		if got, want := slices.Clone(s.Run(0, 1)), []int64{100, 70}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
