package tracetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// ServerRequests returns n requests, at most 255, each with ops operations, for benchmarks. The operations alternate between
// two devices, have launch times, and the request's number as their step.
func ServerRequests(n, ops int) []Spec {
	names := []string{"layer_norm", "matmul", "softmax", "matmul", "gelu", "matmul", "add"}
	var specs []Spec
	at := int64(0)
	for i := range n {
		trace := byte(i + 1)
		start := at
		root := uint64(len(specs) + 1)
		for k := range ops {
			launch := at + 1_000
			at = launch + 3_000 + int64(k*7919%20_000)
			op := OpAt(names[k%len(names)], root+uint64(k)+1, root, launch+3_000, at).On(fmt.Sprint("cuda:", k%2))
			specs = append(specs, op.OnStream(7).LaunchedAt(launch).InStep(int64(i)).In(trace))
		}
		at += 5_000
		specs = append(specs, SpanAt("POST /predict", root, 0, start, at).In(trace))
	}
	return specs
}

// LinkedTraces returns a few traces of random trees. Some spans outlive their parents, some link to spans of earlier
// traces. Operations run on the devices x and y.
func LinkedTraces(r *rand.Rand) (specs []Spec) {
	for trace := range byte(1 + r.IntN(4)) {
		n := byte(1 + r.IntN(20))
		for id := range n {
			start := r.Int64N(100)
			s := SpanAt(Pick(r, "a", "b", "c", "d", "e"), uint64(id+1), 0, start, start+r.Int64N(50)).In(trace + 1)
			if id > 0 {
				s.Parent = 1 + uint64(r.IntN(int(id)))
				s.Remote = r.IntN(10) == 0
			}
			if id > 0 && r.IntN(2) == 0 {
				s = s.As(op.KindCompute).On(Pick(r, "x", "y"))
				s.IsOp = true
				s.Remote = false
			}
			for trace > 0 && r.IntN(5) == 0 {
				s = s.To(1+byte(r.IntN(int(trace))), uint64(1+r.IntN(20)))
			}
			specs = append(specs, s)
		}
	}
	r.Shuffle(len(specs), func(i, j int) { specs[i], specs[j] = specs[j], specs[i] })
	return specs
}

// Loops returns loops of several services and ranks, below two requests or without one. The loops begin again, pause,
// overlap and lack operations. Some operations have no step, or are the host's view.
func Loops(r *rand.Rand) []Spec {
	specs := []Spec{SpanAt("GET /a", 1, 0, 0, 10), SpanAt("GET /b", 2, 0, 0, 10).In(2)}
	for range 1 + r.IntN(6) {
		at := r.Int64N(4000)
		loop := Spec{
			IsOp: true, Name: "a", Kind: op.KindCompute, Service: Pick(r, "", "", "api"), Trace: byte(3 + r.IntN(3)),
			Device: Pick(r, "cuda:0", "cuda:1"), Rank: Pick(r, op.Int{}, op.Known(r.Int64N(3))),
		}
		if request := byte(r.IntN(5)); request == 1 || request == 2 {
			loop.Trace = request
			loop.Parent = uint64(request)
		}
		for step := range r.Int64N(4) {
			for range r.IntN(4) {
				s := loop.InStep(step)
				s.ID = 10 + uint64(len(specs))
				s.Start = at * Millisecond
				s.End = s.Start + r.Int64N(600)*Millisecond
				s.Timeless = r.IntN(15) == 0
				switch r.IntN(30) {
				case 0:
					s.Step = op.Int{}
				case 1:
					s = s.FromHost()
				}
				at += r.Int64N(700)
				specs = append(specs, s)
			}
		}
	}
	return specs
}

// Launches returns n operations on the streams of two devices, some with a launch.
func Launches(r *rand.Rand, n int) []op.Entry {
	entries := make([]op.Entry, n)
	free := make(map[[2]int]int64)
	for i := range entries {
		device := r.IntN(2)
		stream := r.IntN(3)
		key := [2]int{device, stream}
		start := max(0, free[key]+r.Int64N(40_000)-r.Int64N(30_000))
		e := op.Entry{
			Operation: "op", Kind: op.Kind(r.IntN(5)), DeviceID: fmt.Sprint("cuda:", device),
			Stream: op.Int{Known: stream > 0, V: int64(stream)},
			Start:  op.Known(start), Duration: r.Int64N(30_000) * r.Int64N(2),
		}
		if r.IntN(4) > 0 {
			e.Launch = op.Known(max(0, start-r.Int64N(60_000)+5_000))
			if r.IntN(2) == 0 {
				took := strconv.FormatInt(r.Int64N(20_000), 10)
				e.Attrs = []op.Attr{{Key: attrkey.LaunchDuration, Value: took, Type: op.AttrInt}}
			}
		}
		free[key] = start + e.Duration
		entries[i] = e
	}
	return entries
}

// Simulation makes runs of operations on one device, one after the other, with lognormal durations.
type Simulation struct {
	Names []string
	Steps int
	// Between is the standard deviation of logarithms between runs, Within the deviation between operations of a run.
	Between, Within float64
	// Rho correlates the noise of an operation in a step with its noise in the step before.
	Rho   float64
	Tail  float64 // the inverse exponent of a Pareto distribution of longer steps; 0 turns it off
	Drift float64 // the relative slowdown of a run until its end
	// Slow is the factor of a slow state; 0 turns it off. A step changes the state with probability Switch.
	Slow, Switch    float64
	NoStart, NoStep bool
	Tight           bool // no idle time
}

// Run returns a run. The operations named in slower take longer by its factors.
func (s Simulation) Run(r *rand.Rand, slower map[string]float64) (entries []*op.Entry) {
	pace := math.Exp(r.NormFloat64() * s.Between)
	at := int64(1_700_000_000_000_000_000)
	noise := make([]float64, len(s.Names))
	isSlow := s.Slow > 0 && r.IntN(2) == 0
	for step := range int64(s.Steps) {
		pace := pace * (1 + s.Drift*float64(step)/float64(s.Steps))
		if s.Tail > 0 {
			pace *= math.Exp(s.Tail * r.ExpFloat64())
		}
		if s.Slow > 0 && r.Float64() < s.Switch {
			isSlow = !isSlow
		}
		if isSlow {
			pace *= s.Slow
		}
		for i, name := range s.Names {
			fresh := math.Sqrt(1 - s.Rho*s.Rho)
			if step == 0 {
				fresh = 1
			}
			noise[i] = s.Rho*noise[i] + fresh*r.NormFloat64()
			ns := 10_000 * float64(i+1) * pace * math.Exp(noise[i]*s.Within)
			if f := slower[name]; f != 0 {
				ns *= f
			}
			e := &op.Entry{Operation: name, Kind: op.KindCompute, DeviceID: "gpu:0", Duration: int64(ns)}
			if !s.NoStart {
				e.Start = op.Known(at)
			}
			if !s.NoStep {
				e.Step = op.Known(step)
			}
			at += e.Duration
			if !s.Tight {
				at += 500
			}
			entries = append(entries, e)
		}
		if !s.Tight {
			at += 20_000
		}
	}
	return entries
}
