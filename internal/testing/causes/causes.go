// Package causes makes recordings of runs with one known cause of slowness, of any strength, and of runs
// without one. Tests of findings read them, and examples/causes writes them to a file.
package causes

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// Cause is a reason for a slow run.
type Cause struct {
	Name string
	// Finding is the kind of the finding for the cause, and Says a part of its text.
	Finding, Says string
	// From is the strength at which the first finding names the cause in nine of ten runs.
	From float64
	make func(*run)
}

// Causes are the causes. Strength is the added time relative to the run without the cause, or the lost
// part of the recording.
var Causes = []Cause{
	{"operation", "operation", "layer_05", 0.05, (*run).train},
	{"late_device", "straggler", "cuda:2", 0.15, (*run).train},
	{"copy", "copies", "Memcpy HtoD", 0.1, (*run).train},
	{"host_gap", "host_gap", "save_checkpoint", 0.1, (*run).train},
	{"first_step", "first_step", "first step", 0.1, (*run).train},
	{"slow_request", "slow_request", "The slowest generate", 0.1, (*run).serve},
	{"unequal_work", "imbalance", "cuda:1", 0.15, (*run).train},
	{"tiny_operations", "small_operations", "scale", 0.1, (*run).train},
	{"queue", "slow_request", "queue", 0.15, (*run).serve},
	{"lossy", "lost", "dropped", 0.15, (*run).train},
}

// The names of runs without a cause: training on several devices, and serving of requests.
const (
	Training = "none_training"
	Serving  = "none_serving"
)

// Records returns the recording of a run with a cause of a strength, or of a run without one. It returns
// an error for an unknown name.
func Records(name string, strength float64, seed uint64) ([]op.Record, error) {
	// #nosec G404 -- the same for a seed
	r := &run{cause: name, strength: strength, random: rand.New(rand.NewPCG(seed, 0))}
	for _, c := range append([]Cause{{Name: Training, make: (*run).train}, {Name: Serving, make: (*run).serve}},
		Causes...) {
		if c.Name == name {
			c.make(r)
			return r.records, nil
		}
	}
	return nil, fmt.Errorf("there is no cause %q", name)
}

// Write writes the recording of Records to w, as entries.
func Write(w io.Writer, name string, strength float64, seed uint64) error {
	records, err := Records(name, strength, seed)
	if err != nil {
		return err
	}
	return write(w, records)
}

func write(w io.Writer, records []op.Record) (err error) {
	out := entries.NewWriter(w, nil)
	for _, rec := range records {
		switch {
		case rec.Entry != nil:
			err = out.Entry(rec.Entry)
		case rec.Span != nil:
			err = out.Span(rec.Span)
		case rec.Gap != nil:
			err = out.Gap(rec.Gap)
		}
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

// The size of a run: steps of layers on devices, or requests.
const (
	devices  = 4
	steps    = 40
	layers   = 16
	requests = 60
	layer    = 1_000_000 // nanoseconds
	epoch    = 1_700_000_000_000_000_000
)

type run struct {
	cause    string
	strength float64
	random   *rand.Rand
	records  []op.Record
	spans    uint64
}

// is returns the strength if the run has the cause, otherwise 0.
func (r *run) is(cause string) float64 {
	if r.cause == cause {
		return r.strength
	}
	return 0
}

// vary returns a random time around ns, by a relative spread.
func (r *run) vary(ns, by float64) int64 {
	return int64(ns * math.Exp(r.random.NormFloat64()*by))
}

// train records steps on devices with equal work. The devices wait for each other at the end of each step.
// The speed of each device drifts slowly.
func (r *run) train() {
	const step = layers * layer
	at := int64(epoch)
	var drift [devices]float64
	for s := range int64(steps) {
		host := r.vary(0.02*step, 0.2)
		r.host("next_batch", at, host)
		at += host
		if s == steps/2 && r.is("host_gap") > 0 {
			pause := int64(r.strength * step * steps)
			r.host("save_checkpoint", at, pause)
			at += pause
		}
		slow := 1.0
		if s == 0 {
			slow += r.is("first_step") * steps
		}
		var ready [devices]int64
		last := int64(0)
		for d := range ready {
			drift[d] = 0.7*drift[d] + 0.02*r.random.NormFloat64()
			ready[d] = r.device(d, s, at, slow*math.Exp(drift[d]))
			last = max(last, ready[d])
		}
		transfer := r.vary(0.03*step*slow, 0.1)
		for d, start := range ready {
			e := r.entry("all_reduce", op.KindCollective, d, s, start, last+transfer-start)
			e.Collective = &op.Collective{Name: "all_reduce", Group: "data", Sequence: op.Known(s)}
		}
		at = last + transfer
	}
	if lost := r.is("lossy"); lost > 0 {
		n := int64(lost / (1 - lost) * float64(len(r.records)))
		r.records = append(r.records, op.Record{Gap: &op.Gap{Dropped: n, Reason: "queue_full"}})
	}
}

// device records a step of a device and returns its end.
func (r *run) device(d int, s, at int64, slow float64) int64 {
	const step = layers * layer
	if d == 2 {
		at += int64(r.is("late_device") * step)
	}
	add := func(name string, kind op.Kind, ns float64) *op.Entry {
		e := r.entry(name, kind, d, s, at, r.vary(ns*slow, 0.05))
		at += e.Duration + 1000
		return e
	}
	add("Memcpy HtoD", op.KindMemory, (0.01+r.is("copy"))*step)
	work := 1.0
	if d == 1 {
		work += r.is("unequal_work")
	}
	for l := range layers {
		ns := work * layer
		if l == 5 {
			ns += r.is("operation") * step
		}
		e := add(fmt.Sprintf("layer_%02d", l), op.KindCompute, ns)
		e.OutputElements = op.Known(int64(4096 * work))
	}
	const gap = 8_000
	for range int(r.is("tiny_operations") * step / (2 * (gap + 1000))) {
		add("scale", op.KindCompute, 1000)
		at += gap
		add("shift", op.KindCompute, 1000)
		at += gap
	}
	return at
}

// serve records requests with their operations, one after the other. There are pauses between them unless
// there is a queue.
func (r *run) serve() {
	at := int64(epoch)
	prompt := int64(-1)
	if r.is("slow_request") > 0 {
		prompt = requests / 2
	}
	for i := range int64(requests) {
		size := math.Exp(r.random.NormFloat64() * 0.3)
		trace := r.trace()
		span := r.span()
		arrival := at
		if wait := r.is("queue"); wait > 0 {
			if i > 0 {
				arrival -= r.vary(wait*layers*layer/2, 0.1)
			}
		} else {
			at += r.vary(0.02*layers*layer, 0.3)
		}
		if i == prompt { // of another request that shares a step with this one
			other := r.trace()
			otherSpan := r.span()
			end := r.prompt(at, [2]op.Link{{TraceID: trace, SpanID: span}, {TraceID: other, SpanID: otherSpan}})
			r.request(other, otherSpan, at, end)
			at = end
		}
		for l := range layers {
			e := r.entry(fmt.Sprintf("layer_%02d", l), op.KindCompute, 0, 0, at, r.vary(layer*size, 0.1))
			e.Step = op.Int{}
			e.TraceID = trace
			e.SpanID = r.span()
			e.ParentSpanID = span
			at += e.Duration + 2000
		}
		r.request(trace, span, arrival, at)
		if r.is("queue") == 0 {
			at += r.vary(layers*layer/4, 0.5)
		}
	}
}

// prompt records a step for two requests, slowed by the prompt of one, and returns its end.
func (r *run) prompt(at int64, links [2]op.Link) int64 {
	trace := r.trace()
	span := r.span()
	start := at
	for l := range layers {
		e := r.entry(fmt.Sprintf("layer_%02d", l), op.KindCompute, 0, 0, at, r.vary(r.strength*layer*requests, 0.1))
		e.Step = op.Int{}
		e.TraceID = trace
		e.SpanID = r.span()
		e.ParentSpanID = span
		at += e.Duration
	}
	r.records = append(r.records, op.Record{Span: &op.Span{
		Name: "step", TraceID: trace, SpanID: span, Start: op.Known(start), Duration: at - start, Service: "engine",
		Links: links[:],
	}})
	return at
}

func (r *run) request(trace op.TraceID, span op.SpanID, start, end int64) {
	r.records = append(r.records, op.Record{Span: &op.Span{
		Name: "generate", TraceID: trace, SpanID: span, Start: op.Known(start), Duration: end - start,
		Service: "engine",
	}})
}

func (r *run) entry(name string, kind op.Kind, d int, s, start, ns int64) *op.Entry {
	e := &op.Entry{
		Operation: name, Kind: kind, DeviceID: fmt.Sprintf("cuda:%d", d), Stream: op.Known(0), Step: op.Known(s),
		Start: op.Known(start), Duration: max(0, ns),
	}
	r.records = append(r.records, op.Record{Entry: e})
	return e
}

func (r *run) host(name string, start, ns int64) {
	e := &op.Entry{Operation: name, Kind: op.KindControl, Side: op.SideHost, Start: op.Known(start), Duration: ns}
	r.records = append(r.records, op.Record{Entry: e})
}

func (r *run) span() (id op.SpanID) {
	r.spans++
	for i := range id {
		id[i] = byte(r.spans >> (8 * (len(id) - 1 - i)))
	}
	return id
}

func (r *run) trace() (id op.TraceID) {
	span := r.span()
	copy(id[8:], span[:])
	return id
}
