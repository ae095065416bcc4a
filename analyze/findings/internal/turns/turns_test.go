package turns_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/findings/internal/turns"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// program is a training program with a goroutine for each device. A lock lets one of them run a layer at a time.
type program struct {
	devices, layers int
	locked          bool
	sends           bool // what one device computes goes to the next
	longer          float64
	pause           int64 // ns without the lock, behind a layer
}

// run returns the recording of ten steps and its end in ns. The noise of a device does not depend on the lock.
func (p *program) run(seed uint64) (f *trace.Forest, end int64) {
	const us, steps = 1_000, 10
	f = trace.New()
	var noise []*rand.Rand
	for d := range p.devices {
		noise = append(noise, rand.New(rand.NewPCG(seed, uint64(d))))
	}
	add := func(d int, name string, kind op.Kind, start, ns, number int64) {
		e := op.Entry{
			Operation: name, Kind: kind, DeviceID: fmt.Sprint("gpu:", d), Start: op.Known(int64(1e18) + start),
			Duration: ns,
		}
		if kind == op.KindCollective {
			e.Collective = &op.Collective{Name: name, Group: "dp", Sequence: op.Known(number)}
		}
		f.Add(op.Record{Entry: &e})
	}
	for step := range int64(steps) {
		now := make([]int64, p.devices)
		done := make([]int, p.devices)
		for d := range now {
			now[d] = end
		}
		free := end
		for {
			d := -1 // the next to run a layer
			for k := range now {
				if done[k] < p.layers && (d < 0 || now[k] < now[d]) {
					d = k
				}
			}
			if d < 0 {
				break
			}
			if p.locked {
				now[d] = max(now[d], free)
			}
			for _, o := range []struct {
				name string
				ns   int64
			}{{"matmul", 600 * us}, {"gelu", 50 * us}} {
				ns := o.ns*9/10 + noise[d].Int64N(o.ns/5)
				if d == 0 {
					ns = int64(p.longer * float64(ns))
				}
				now[d] += 15 * us
				add(d, o.name, op.KindCompute, now[d], ns, 0)
				now[d] += ns
			}
			free = now[d]
			now[d] += p.pause
			done[d]++
		}
		name := "all_reduce"
		if p.sends {
			name = "send"
		}
		for _, at := range now {
			end = max(end, at)
		}
		for d, at := range now {
			add(d, name, op.KindCollective, at, end+100*us-at, step)
			add(d, "adam", op.KindCompute, end+100*us, 300*us, 0)
		}
		end += 400 * us
	}
	f.Build()
	return f, end
}

// A lock around the layers of devices costs what they take one after the other, beyond the longest of them.
func TestDevicesThatTakeTurns(t *testing.T) {
	for _, test := range []struct {
		name string
		program
		want bool
	}{
		{"a lock", program{devices: 2, layers: 6, locked: true, longer: 1}, true},
		{"three devices", program{devices: 3, layers: 4, locked: true, longer: 1}, true},
		{"uneven work", program{devices: 2, layers: 5, locked: true, longer: 1.7}, true},
		{"no lock", program{devices: 2, layers: 6, longer: 1}, false},
		{"a pipeline", program{devices: 2, layers: 6, locked: true, sends: true, longer: 1}, false},
		{"few turns", program{devices: 2, layers: 1, locked: true, longer: 1}, false},
		{"one device", program{devices: 1, layers: 6, locked: true, longer: 1}, false},
		{"long pauses", program{devices: 2, layers: 6, locked: true, longer: 1, pause: 5_000_000}, false},
	} {
		f, whole := test.run(7)
		found, ok := turns.Find(f)
		if ok != test.want {
			t.Errorf("%s: %+v, %v", test.name, found, ok)
		}
		if !ok {
			continue
		}
		test.locked = false
		_, ns := test.run(7)
		isDescribed := found.Devices == test.devices && len(found.Operations) == 2
		if off := found.NS - (whole - ns); max(off, -off) > (whole-ns)/50 || !isDescribed {
			t.Errorf("%s: %+v, %d of %d ns without the lock", test.name, found, ns, whole)
		}
	}
}
