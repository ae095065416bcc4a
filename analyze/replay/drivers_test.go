package replay_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// trainer is a program with a goroutine for each device, as its own recorder writes it: spans of layers, and operations
// without launches and threads. Each step reads its input, and reduces once on both devices.
type trainer struct {
	slow           [2]float64 // times as long
	load, reduced  int64      // µs
	parts          int64      // of the reduction, each as soon as the backward pass has done as much of its work
	devices, steps int
}

// run returns the recording and the time of the run in ns. The noise has a seed for each device.
func (p *trainer) run(seed uint64) (f *trace.Forest, end int64) {
	const us = 1_000
	f = trace.New()
	number := uint16(0)
	id := func() op.SpanID {
		number++
		return op.SpanID{byte(number >> 8), byte(number), 1}
	}
	var noise []*rand.Rand
	for d := range p.devices {
		noise = append(noise, rand.New(rand.NewPCG(seed, uint64(d))))
	}
	at := int64(1e18)
	for step := range p.steps {
		root := id()
		begin := at
		ready := make([]int64, p.devices)
		latest := int64(0)
		done := make([]int64, p.parts+1) // when as many parts of the backward pass are over
		for d := range p.devices {
			r := noise[d]
			var took, ends []int64
			around := func(ns int64) int64 { return ns*9/10 + r.Int64N(ns/5) }
			now := begin
			add := func(e op.Entry, above op.SpanID, ns int64) {
				e.TraceID = op.TraceID{1, byte(step)}
				e.SpanID = id()
				e.ParentSpanID = above
				e.Step = op.Known(int64(step))
				e.Start = op.Known(now)
				e.Duration = ns
				f.Add(op.Record{Entry: &e})
				now += ns
			}
			add(op.Entry{Operation: "next_batch", Kind: op.KindIO, Side: op.SideHost}, root, around(p.load*us))
			for i := range 6 {
				layer := id()
				start := now
				for _, ns := range []int64{700 * us, 60 * us, 400 * us, 50 * us} {
					now += around(15 * us)
					e := op.Entry{
						Operation: fmt.Sprint("matmul", ns), Kind: op.KindCompute, DeviceID: fmt.Sprint("gpu:", d),
						Phase: "forward",
					}
					took = append(took, int64(p.slow[d]*float64(around(ns))))
					if i >= 2 {
						e.Phase = "backward"
					}
					add(e, layer, took[len(took)-1])
					ends = append(ends, now)
				}
				f.Add(op.Record{Span: &op.Span{
					Name: "layer", TraceID: op.TraceID{1, byte(step)}, SpanID: layer, ParentSpanID: root,
					Start: op.Known(start), Duration: now - start,
				}})
			}
			ready[d] = now
			latest = max(latest, now)
			for part := range done {
				done[part] = max(done[part], overAt(took[8:], ends[8:], float64(part)/float64(p.parts)))
			}
		}
		at = begin
		for _, over := range done[1:] {
			at = max(at, over) + p.reduced*us/p.parts
		}
		for d, now := range ready {
			f.Add(op.Record{Entry: &op.Entry{
				Operation: "all_reduce", Kind: op.KindCollective, DeviceID: fmt.Sprint("gpu:", d),
				TraceID: op.TraceID{1, byte(step)}, SpanID: id(), ParentSpanID: root, Step: op.Known(int64(step)),
				Start: op.Known(now), Duration: at - now,
				Collective: &op.Collective{Name: "all_reduce", Group: "dp", Sequence: op.Known(int64(step))},
			}})
		}
		f.Add(op.Record{Span: &op.Span{
			Name: "train_step", TraceID: op.TraceID{1, byte(step)}, SpanID: root, Start: op.Known(begin),
			Duration: at - begin,
		}})
	}
	return f, at - 1e18
}

// overAt returns when a share of the work of operations is over.
func overAt(took, ends []int64, share float64) int64 {
	all, ns := int64(0), int64(0)
	for _, of := range took {
		all += of
	}
	for i, of := range took {
		if ns += of; float64(ns) >= share*float64(all) {
			return ends[i]
		}
	}
	return ends[len(ends)-1]
}

// The goroutines of two devices do not wait for each other but in collectives: less work on one of them, more on the
// other, or a shorter input bring what they bring in the program.
func TestGoroutinesOfDevicesDoNotWaitForEachOther(t *testing.T) {
	cases.Inputs(t, 6, 60, func(seed uint64, r *rand.Rand) {
		slow := 1.2 + r.Float64()
		p := trainer{
			slow: [2]float64{slow, 1}, load: 300 + r.Int64N(2000), reduced: 500, parts: 1, devices: 2, steps: 8,
		}
		even := [2]float64{(slow + 1) / 2, (slow + 1) / 2}
		f, whole := p.run(seed)
		g := replay.New(f)
		if points, moved := g.Differences(); moved != 0 {
			t.Errorf("seed %d: %d of %d points moved", seed, moved, points)
		}
		for change, twin := range map[string]trainer{
			"balance kind=compute":                               {slow: even, load: p.load},
			fmt.Sprintf("%gx kind=compute,device=gpu:0", 1/slow): {slow: [2]float64{1, 1}, load: p.load},
			"0.5x next_batch":                                    {slow: p.slow, load: p.load / 2},
		} {
			twin.reduced = p.reduced
			twin.parts = p.parts
			twin.devices = p.devices
			twin.steps = p.steps
			_, ns := twin.run(seed)
			got := saved(t, g, change)
			if off := got - (whole - ns); max(off, -off) > max(whole/100, (whole-ns)/20) {
				t.Errorf("seed %d: %s saves %d of %d ns, %d in the program", seed, change, got, whole, whole-ns)
			}
		}
	})
}

// One reduction of all gradients hides behind the backward pass but for its last part, or for what takes longer than
// the pass.
func TestAReductionInPartsHidesBehindTheBackwardPass(t *testing.T) {
	cases.Inputs(t, 6, 60, func(seed uint64, r *rand.Rand) {
		p := trainer{
			slow: [2]float64{1 + r.Float64()/5, 1}, load: 300, reduced: 1_000 + r.Int64N(8_000), parts: 1,
			devices: 2, steps: 8,
		}
		f, whole := p.run(seed)
		n := 2 + r.Int64N(20)
		p.parts = n
		_, ns := p.run(seed)
		g := replay.New(f)
		one := check.Must(g.Run(replay.Change{Kind: replay.Parts, Select: "all_reduce"}))(t)
		check.Equal(t, "the time in one part", one.Run.NS, one.Run.ReplayedNS)
		got := saved(t, g, fmt.Sprintf("parts=%d all_reduce", n))
		if off := got - (whole - ns); max(off, -off) > (whole-ns)/50 {
			t.Errorf("seed %d: %d parts of %d µs save %d of %d ns, %d in the program", seed, n, p.reduced, got, whole,
				whole-ns)
		}
	})
}
