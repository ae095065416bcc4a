// Package causes simulates runs with one known cause of slowness, of any strength, and the same runs without it. Tests of
// findings and replays read them, and examples/causes writes them to a file.
package causes

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// Layout is the form of a recording of a training program.
type Layout string

// The layouts.
const (
	// Profile has host operations with threads, launches and waiting calls, and no requests.
	Profile Layout = "profile"
	// TracePerStep has a root span for each step, and operations without launches.
	TracePerStep Layout = "trace_per_step"
	// TracePerRank has a root span for each rank and step.
	TracePerRank Layout = "trace_per_rank"
)

// Layouts lists the layouts.
var Layouts = []Layout{Profile, TracePerStep, TracePerRank}

// Planted is a cause of slowness in a training program, and the change that undoes it.
type Planted struct {
	Name string
	// Rule is the rule of the finding for the cause, and Says a part of its text.
	Rule, Says string
	// Change undoes a cause of a strength, in the form of package replay. It is nil for a cause that no change undoes.
	Change func(strength float64) string
}

// Programs are the causes of [Twin].
var Programs = []Planted{
	{"straggler", "straggler", "1/cuda:1", func(s float64) string { return fmt.Sprintf("%gx rank=1,kind=compute", 1/(1+s)) }},
	{"imbalance", "straggler", "3/cuda:3", func(float64) string { return "balance kind=compute" }},
	{"tiny", "small_operations", "tiny", func(float64) string { return "remove tiny" }},
	{"item", "device_wait", "cudaStreamSynchronize", func(float64) string { return "nowait cudaStreamSynchronize" }},
	{"pause", "pauses", "save_checkpoint", func(float64) string { return "remove save_checkpoint" }},
	{"loader", "input_wait", "next_batch", func(float64) string { return "remove next_batch" }},
	{"pageable", "pageable_copy", "Pageable", func(float64) string { return "rate=25GB/s Memcpy HtoD (Pageable -> Device)" }},
	{"slow_layer", "unlike", "layer_05", func(s float64) string { return fmt.Sprintf("%gx layer_05", 1/(1+s*trainLayers)) }},
	{"first_step", "warm_up", "first step", func(float64) string { return "warm" }},
	{"late", "straggler", "2/cuda:2", nil},
	{"exposed", "exposed_communication", "all_reduce", func(float64) string { return "overlap kind=collective" }},
	{"slow_link", "exposed_communication", "links carry", nil},
}

// PlantedIn returns the causes of [Twin] in a layout.
func PlantedIn(layout Layout) []Planted {
	switch layout {
	case Server, ServerMixed:
		return Servers
	case Profile:
		return Programs
	case TracePerStep, TracePerRank: // without calls
		return slices.DeleteFunc(slices.Clone(Programs), func(c Planted) bool { return c.Name == "item" })
	}
	return nil
}

// The size of a program.
const (
	trainRanks    = 4
	trainSteps    = 12
	trainLayers   = 12
	kernelNS      = 400_000
	us            = 1_000
	usualTransfer = 0.05 // the time of a collective, as a part of a step
)

// piece is a part of a simulated run.
type piece struct {
	name       string
	kind       op.Kind
	rank, step int
	start, end int64 // ns
	bytes      int64
	host, call bool
	stream     int64
	// launch and launched are the times of the launching call, of operations on devices.
	launch, launched int64
	sequence         int64 // of a collective, from 1
}

const epoch = 1_700_000_000_000_000_000 // the start of recordings, in Unix nanoseconds

// program simulates the hosts and devices of a training run.
type program struct {
	cause    string
	planted  bool
	strength float64
	seed     uint64
	pieces   []*piece
	host     [trainRanks]int64    // the time of each host
	free     [trainRanks][2]int64 // when each stream is free
	drawn    [trainRanks]map[string]uint64
}

// Twin returns the records of a program with a cause, and of the same program without it. Both have the same noise. ns
// are their durations, of servers the sums of the durations of their requests.
func Twin(name string, layout Layout, strength float64, seed uint64) (with, without []op.Record, ns [2]int64) {
	var out [2][]op.Record
	for i, planted := range []bool{true, false} {
		p := &program{cause: name, planted: planted, strength: strength, seed: seed}
		if slices.Contains(ServerLayouts, layout) {
			var requests map[op.TraceID]int64
			out[i], requests = p.serve(layout)
			for _, r := range requests {
				ns[i] += r
			}
			continue
		}
		for s := range trainSteps {
			p.step(s)
		}
		out[i] = p.records(layout)
		for _, x := range p.pieces {
			ns[i] = max(ns[i], x.end)
		}
	}
	return out[0], out[1], ns
}

// Write writes the records of Twin to w, as entries, with the cause or without it. It returns an error for a cause that
// the layout does not have.
func Write(w io.Writer, name string, layout Layout, without bool, strength float64, seed uint64) error {
	if !slices.ContainsFunc(PlantedIn(layout), func(c Planted) bool { return c.Name == name }) {
		return fmt.Errorf("there is no cause %q in layout %q", name, layout)
	}
	records, other, _ := Twin(name, layout, strength, seed)
	if without {
		records = other
	}
	out := entries.NewWriter(w, nil)
	for _, rec := range records {
		var err error
		switch {
		case rec.Entry != nil:
			err = out.Entry(rec.Entry)
		case rec.Span != nil:
			err = out.Span(rec.Span)
		case rec.Call != nil:
			err = out.Call(rec.Call)
		}
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

// noise returns a factor near 1 for the next piece of a name on a rank. Twins draw the same.
func (p *program) noise(rank int, name string, spread float64) float64 {
	if p.drawn[rank] == nil {
		p.drawn[rank] = make(map[string]uint64)
	}
	p.drawn[rank][name]++
	h := p.seed*0x9e3779b97f4a7c15 ^ uint64(rank+1)<<40 ^ p.drawn[rank][name]<<20
	for _, b := range []byte(name) {
		h = (h ^ uint64(b)) * 0x100000001b3
	}
	u := func() float64 {
		h ^= h >> 33
		h *= 0xff51afd7ed558ccd
		h ^= h >> 29
		return (float64(h>>11) + 0.5) / (1 << 53)
	}
	normal := math.Sqrt(-2*math.Log(u())) * math.Cos(2*math.Pi*u())
	return math.Exp(spread * normal)
}

// is returns the strength if the program has the cause, otherwise 0.
func (p *program) is(cause string) float64 {
	if p.cause == cause && p.planted {
		return p.strength
	}
	return 0
}

// work lets a host work.
func (p *program) work(rank, step int, name string, ns float64) {
	took := int64(ns * p.noise(rank, name, 0.1))
	p.pieces = append(p.pieces, &piece{
		name: name, kind: op.KindControl, rank: rank, step: step, host: true,
		start: p.host[rank], end: p.host[rank] + took,
	})
	p.host[rank] += took
}

// launch lets a host launch an operation on a stream, after an end on the other stream.
func (p *program) launch(rank, step int, name string, kind op.Kind, stream int, ns float64, after int64) *piece {
	x := &piece{name: name, kind: kind, rank: rank, step: step, stream: int64(stream), launch: p.host[rank]}
	p.host[rank] += int64(5 * us * p.noise(rank, "launch", 0.1))
	x.launched = p.host[rank]
	latency := int64(4 * us * p.noise(rank, "latency", 0.1))
	x.start = max(x.launch+latency, p.free[rank][stream]+us, after+2*us)
	x.end = x.start + int64(ns*p.noise(rank, name, 0.05))
	p.free[rank][stream] = x.end
	p.host[rank] += int64(3 * us * p.noise(rank, "python", 0.1))
	p.pieces = append(p.pieces, x)
	return x
}

// wait lets a host wait for a stream.
func (p *program) wait(rank, step int, name string, until int64) {
	start := p.host[rank]
	p.host[rank] = max(start+2*us, until+6*us)
	p.pieces = append(p.pieces, &piece{
		name: name, rank: rank, step: step, host: true, call: true, start: start, end: p.host[rank],
	})
}

// collective launches parts on all ranks and ends them together.
func (p *program) collective(step int, stream int, ns float64, after [trainRanks]int64) {
	var parts [trainRanks]*piece
	last := int64(0)
	for r := range parts {
		parts[r] = p.launch(r, step, "all_reduce", op.KindCollective, stream, 0, after[r])
		last = max(last, parts[r].start)
	}
	took := int64(ns * p.noise(0, "transfer", 0.05))
	for r, x := range parts {
		x.end = last + took
		x.sequence = int64(len(p.pieces))
		x.bytes = 36_000_000
		p.free[r][stream] = x.end
	}
	for _, x := range parts {
		x.sequence = parts[0].sequence
	}
}

func (p *program) step(s int) {
	const step = float64(trainLayers * kernelNS)
	for r := range trainRanks {
		if r == 2 { // an untraced pause
			p.host[r] += int64(p.is("late") * step)
		}
		if wait := p.is("loader"); wait > 0 {
			p.work(r, s, "next_batch", wait*step)
		}
		if s == trainSteps/2 && p.is("pause") > 0 {
			p.work(r, s, "save_checkpoint", p.is("pause")*step*trainSteps)
		}
		p.work(r, s, "prepare", 50*us)
		p.copyInput(r, s)
	}
	for l := range trainLayers {
		var after [trainRanks]int64
		for r := range trainRanks {
			after[r] = p.layer(r, s, l)
		}
		switch {
		case l%4 != 3:
		case p.is("exposed") > 0:
			p.collective(s, 0, p.strength*step/3, after)
		case p.cause == "exposed":
			p.collective(s, 1, p.strength*step/3, after)
		default:
			p.collective(s, 1, (usualTransfer+p.is("slow_link"))*step, after)
		}
	}
	for r := range trainRanks {
		p.wait(r, s, "cudaDeviceSynchronize", max(p.free[r][0], p.free[r][1]))
	}
}

// copyInput copies the input of a step: from pinned memory, or from pageable memory in a call that blocks.
func (p *program) copyInput(r, s int) {
	const bytes = 25_000_000 // 1 ms at 25 GB/s
	if slow := p.is("pageable"); slow > 0 {
		x := p.launch(r, s, "Memcpy HtoD (Pageable -> Device)", op.KindMemory, 0, (1+4*slow)*1e6, 0)
		x.bytes = bytes
		x.launched = x.end - 8*us
		p.host[r] = x.launched + 3*us
		return
	}
	p.launch(r, s, "Memcpy HtoD (Pinned -> Device)", op.KindMemory, 0, 1e6, 0).bytes = bytes
}

// layer launches a layer and returns its end.
func (p *program) layer(r, s, l int) int64 {
	ns := float64(kernelNS)
	if r == 1 {
		ns *= 1 + p.is("straggler")
	}
	if p.is("imbalance") > 0 {
		ns *= 1 + p.strength*(float64(r)/(trainRanks-1)-0.5)
	}
	if l == 5 {
		ns *= 1 + p.is("slow_layer")*trainLayers
	}
	if s == 0 {
		ns *= 1 + p.is("first_step")*trainSteps
	}
	name := fmt.Sprintf("layer_%02d", l)
	x := p.launch(r, s, name, op.KindCompute, 0, ns, 0)
	for range int(p.is("tiny") * kernelNS / (8 * us)) {
		p.launch(r, s, "tiny", op.KindCompute, 0, 2*us, 0)
	}
	if p.cause == "item" && l%3 == 0 {
		if p.planted {
			p.wait(r, s, "cudaStreamSynchronize", x.end)
		}
		p.work(r, s, "python", p.strength*500*us)
	}
	return p.free[r][0]
}

// records returns the pieces as a layout records them.
func (p *program) records(layout Layout) (records []op.Record) {
	const start = epoch
	slices.SortStableFunc(p.pieces, func(a, b *piece) int { return cmp.Compare(a.start, b.start) })
	id := uint64(0)
	spanID := func() (out op.SpanID) {
		id++
		copy(out[:], fmt.Sprintf("%08d", id))
		return out
	}
	roots := make(map[[2]int]*op.Span) // by step and rank
	for _, x := range p.pieces {
		if x.call && layout != Profile {
			continue
		}
		e := &op.Entry{
			Operation: x.name, Kind: x.kind, Rank: op.Known(int64(x.rank)), Step: op.Known(int64(x.step)),
			Start: op.Known(start + x.start), Duration: x.end - x.start,
		}
		if x.bytes > 0 {
			e.MemoryBytes = op.Known(x.bytes)
		}
		if !x.host {
			e.DeviceID = fmt.Sprintf("cuda:%d", x.rank)
			e.Stream = op.Known(x.stream)
		} else {
			e.Side = op.SideHost
		}
		if x.sequence > 0 {
			e.Collective = &op.Collective{Name: "all_reduce", Group: "all", Sequence: op.Known(x.sequence)}
		}
		if layout == Profile {
			thread := op.Attr{Key: "thread.id", Type: op.AttrInt, Value: strconv.Itoa(100 + x.rank)}
			e.Attrs = append(e.Attrs, thread)
			if !x.host {
				e.Launch = op.Known(start + x.launch)
				e.Attrs = append(e.Attrs, op.Attr{
					Key: "tensor.launch.duration", Type: op.AttrInt, Value: strconv.FormatInt(x.launched-x.launch, 10),
				})
			}
			if x.call {
				records = append(records, op.Record{Call: e})
			} else {
				records = append(records, op.Record{Entry: e})
			}
			continue
		}
		key := [2]int{x.step, 0}
		if layout == TracePerRank {
			key[1] = x.rank
		}
		root := roots[key]
		if root == nil {
			root = &op.Span{Name: "train_step", Service: "trainer", SpanID: spanID()}
			copy(root.TraceID[:], fmt.Sprintf("%08d%08d", x.step+1, key[1]))
			root.Start = op.Known(start + x.start)
			roots[key] = root
			records = append(records, op.Record{Span: root})
		}
		root.Duration = max(root.Duration, start+x.end+2*us-root.Start.V)
		e.TraceID = root.TraceID
		e.ParentSpanID = root.SpanID
		e.SpanID = spanID()
		records = append(records, op.Record{Entry: e})
	}
	return records
}
