package replay_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// instruction is a part of a random program.
type instruction struct {
	what   string // "work", "launch", "wait" or "collective"
	name   string
	ns     int64
	stream int
}

// randomProgram returns the instructions of up to three ranks, with the same collectives on each, on stream 2.
func randomProgram(r *rand.Rand) [][]instruction {
	p := make([][]instruction, 1+r.IntN(3))
	for range 5 + r.IntN(40) {
		what := r.IntN(10)
		stream := r.IntN(2)
		name := string(rune('a' + r.IntN(4)))
		for t := range p {
			i := instruction{what: "launch", name: name, ns: 1_000 * (1 + r.Int64N(400)), stream: stream}
			switch {
			case what == 0:
				i.what, i.name = "wait", "cudaDeviceSynchronize"
			case what == 1 && len(p) > 1:
				i.what, i.name, i.stream = "collective", "all_reduce", 2
			case what < 4:
				i.what, i.name = "work", "prepare"
			}
			p[t] = append(p[t], i)
		}
	}
	return p
}

// rank is the state of a rank in a simulation.
type rank struct {
	next   int
	now    int64
	free   [3]int64
	data   int64 // the end of the last operation launched
	joined bool  // its part of the next collective has started
}

// simulate runs a program event by event and returns its records and its end. Each operation takes scale times its time
// if it has the name.
func simulate(p [][]instruction, name string, scale float64) (records []op.Record, end int64) {
	ranks := make([]rank, len(p))
	var joined []*op.Entry
	collectives := int64(0)
	for {
		r := -1 // the earliest rank that can go on
		for k := range ranks {
			if s := &ranks[k]; s.next < len(p[k]) && !s.joined && (r < 0 || s.now < ranks[r].now) {
				r = k
			}
		}
		if r < 0 {
			return records, end
		}
		s := &ranks[r]
		i := p[r][s.next]
		s.next++
		e := &op.Entry{
			Operation: i.name, Kind: op.KindCompute, Rank: op.Known(int64(r)), Start: op.Known(s.now), Duration: i.ns,
			Attrs: []op.Attr{{Key: "thread.id", Type: op.AttrInt, Value: strconv.Itoa(7 + r)}},
		}
		rec := op.Record{Entry: e}
		switch i.what {
		case "work":
			e.Side, e.Kind = op.SideHost, op.KindControl
			s.now += i.ns
		case "wait":
			rec = op.Record{Call: e}
			e.Side, e.Kind = op.SideHost, op.KindControl
			s.now = max(s.now+2_000, s.free[0]+3_000, s.free[1]+3_000, s.free[2]+3_000)
			e.Duration = s.now - e.Start.V
		default:
			if i.name == name {
				e.Duration = int64(float64(i.ns) * scale)
			}
			e.DeviceID, e.Stream = fmt.Sprint("cuda:", r), op.Known(int64(i.stream))
			e.Launch = e.Start
			e.Attrs = append(e.Attrs, op.Attr{Key: "tensor.launch.duration", Type: op.AttrInt, Value: "4000"})
			e.Start = op.Known(max(s.now+5_000, s.free[i.stream]+1_000))
			s.now += 6_000
			if i.what == "collective" {
				e.Kind = op.KindCollective
				e.Start.V = max(e.Start.V, s.data+2_000)
				e.Collective = &op.Collective{Name: i.name, Group: "all", Sequence: op.Known(collectives)}
				joined = append(joined, e)
				s.joined = true
			}
			s.free[i.stream] = e.Start.V + e.Duration
			s.data = s.free[i.stream]
		}
		records = append(records, rec)
		if len(joined) == len(p) {
			last, took := int64(0), int64(0)
			for _, e := range joined {
				last = max(last, e.Start.V)
				took = max(took, e.Duration)
			}
			for _, e := range joined {
				e.Duration = last + took - e.Start.V
				s := &ranks[e.Rank.V]
				s.free[2] = last + took
				s.data = s.free[2]
				s.joined = false
			}
			joined = nil
			collectives++
		}
		for _, s := range ranks {
			end = max(end, s.now, s.free[0], s.free[1], s.free[2])
		}
	}
}

// The simulation shares nothing with the replay.
func TestAReplayEqualsANaiveSimulation(t *testing.T) {
	all, right := 0, 0
	cases.Inputs(t, 200, 5000, func(seed uint64, r *rand.Rand) {
		p := randomProgram(r)
		records, end := simulate(p, "", 1)
		f := trace.New()
		for _, rec := range records {
			f.Add(rec)
		}
		g := replay.New(f)
		if points, moved := g.Differences(); moved != 0 {
			t.Errorf("seed %d: %d of %d points moved", seed, moved, points)
		}
		scale := []float64{0, 0.5, 0.8, 1.5, 2}[r.IntN(5)]
		res, err := g.Run(replay.Change{Kind: replay.Scale, Select: "a", Factor: scale})
		if err != nil {
			return // nothing has the name
		}
		check.Equal(t, "the run", end, res.Run.NS)
		_, want := simulate(p, "a", scale)
		all++
		if d := res.Run.ReplayedNS - want; max(d, -d) <= end/100 {
			right++
		} else {
			t.Logf("seed %d: %gx of %d ns takes %d ns, not %d", seed, scale, end, want, res.Run.ReplayedNS)
		}
	})
	t.Logf("%d of %d predictions are right", right, all)
	if 100*right < 95*all {
		t.Error("more than a twentieth is wrong")
	}
}
