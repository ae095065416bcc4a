package ort

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sort"
	"unsafe"

	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/op"
)

const modelRun = "model_run"

type held struct {
	entry           *op.Entry // of a node or a kernel, nil for an event of the session
	name            string    // of the event
	start, duration int64
	node            int // the index of a kernel's node, -1 for other events
}

func (h *held) end() int64 { return h.start + h.duration }

// heldBytes is about the memory of a held event. Threads and runs are held until the end.
const (
	heldBytes   = 1 << 10
	threadBytes = 256
	runBytes    = 64
)

// thread has the held events of a thread, in the order of the file.
type thread struct {
	events []held
	// until is the end of the held run, if any. runs is set once the thread had a run.
	until op.Int
	runs  bool
}

type run struct {
	start, end int64
	trace      op.TraceID
	ids        uint64 // used so far; the run has the first
}

// add holds an event of a thread. Some versions of the runtime sort events by end, others by start. Either way a run is
// complete when an event starts behind it.
func (d *decoder) add(e *traceevent.Event, h held) error {
	key := string(e.PID) + " " + string(e.TID)
	t := d.threads[key]
	bytes := int64(heldBytes)
	if t == nil {
		t = new(thread)
		d.threads[key] = t
		d.order = append(d.order, t)
		bytes += threadBytes
	}
	if t.until.Known && h.start >= t.until.V {
		d.release(t)
	}
	h.node = -1
	t.events = append(t.events, h)
	d.last = t
	if h.entry == nil && h.name == modelRun {
		t.until = op.Known(h.end())
		t.runs = true
		bytes += runBytes
	}
	return d.more(bytes + int64(len(h.name)) + partBytes(h.entry))
}

// partBytes returns about the memory of an entry's texts, shapes and attributes. The entry may be nil.
func partBytes(e *op.Entry) int64 {
	if e == nil {
		return 0
	}
	const number = 8
	n := len(e.Operation) + len(e.Path) + len(e.LaunchedBy) + number*len(e.OutputShape)
	for _, s := range e.InputShapes {
		n += int(unsafe.Sizeof(s)) + number*len(s)
	}
	for _, a := range e.Attrs {
		n += int(unsafe.Sizeof(a)) + len(a.Key) + len(a.Value)
	}
	return int64(n)
}

const maxBehind = 64

// addKernel holds a kernel if a preceding event is its node: the last one with its name that had begun.
func (d *decoder) addKernel(e *op.Entry) (taken bool, err error) {
	if d.last == nil || e.LaunchedBy == "" || !e.Start.Known {
		return false, nil
	}
	t := d.last
	for i := len(t.events) - 1; i >= max(0, len(t.events)-maxBehind); i-- {
		h := &t.events[i]
		if h.entry == nil || h.node >= 0 || h.entry.Operation != e.LaunchedBy || h.start > e.Start.V {
			continue
		}
		if by := h.entry.DeviceID; by != hostDevice {
			d.launches[by] = true
			e.DeviceID = cmp.Or(by, defaultGPU)
		}
		t.events = append(t.events, held{entry: e.Clone(), start: e.Start.V, duration: e.Duration, node: i})
		return true, d.more(heldBytes + partBytes(e))
	}
	return false, nil
}

func (d *decoder) more(bytes int64) error {
	d.bytes += bytes
	return d.held.Set(d.bytes, 1)
}

// finish releases all events of a document. Threads without runs come last: their runs are known by then.
func (d *decoder) finish() {
	for _, runs := range []bool{true, false} {
		slices.SortStableFunc(d.runs, func(a, b *run) int { return cmp.Compare(a.start, b.start) })
		for _, t := range d.order {
			if t.runs == runs {
				d.release(t)
			}
		}
	}
	clear(d.threads)
	clear(d.launches)
	d.order, d.last, d.runs = nil, nil, nil
	d.bytes = 0
	d.held.Free()
}

// release makes records of the events of a thread. An event within another one is its child. A node without duration
// precedes another node with the same start and is not its child.
func (d *decoder) release(t *thread) {
	_ = d.more(-heldBytes * int64(len(t.events))) // less than before
	order := make([]int, 0, len(t.events))
	kernels := make([][]int, len(t.events)) // by node
	for i := range t.events {
		if n := t.events[i].node; n >= 0 {
			kernels[n] = append(kernels[n], i)
		} else {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &t.events[i], &t.events[j]
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.duration, a.duration),
			cmp.Compare(a.rank(), b.rank()), cmp.Compare(j, i))
	})
	for len(order) > 0 {
		root := &t.events[order[0]]
		n := 1
		for n < len(order) && t.events[order[n]].within(root) {
			n++
		}
		d.tree(t.events, order[:n], kernels)
		order = order[n:]
	}
	t.events = t.events[:0]
	t.until = op.Int{}
}

// rank orders events of the same time, outer ones first.
func (h *held) rank() int {
	switch {
	case h.entry != nil:
		return 2
	case h.name == modelRun:
		return 0
	}
	return 1
}

func (h *held) within(outer *held) bool { return h.start < outer.end() || h.start == outer.start }

// tree makes records of the first event in order and the events within it.
func (d *decoder) tree(events []held, order []int, kernels [][]int) {
	root := &events[order[0]]
	r := d.runOf(root)
	parent := op.SpanID{}
	switch {
	case r != nil:
		parent = spanID(1)
	case root.entry != nil && len(order) == 1 && len(kernels[order[0]]) == 0:
		d.give(op.Record{Entry: root.entry})
		return
	default:
		r = &run{start: root.start, end: root.end(), trace: fingerprint(events, order)}
		if root.entry == nil && root.name == modelRun {
			d.runs = append(d.runs, r)
		}
	}
	type open struct {
		*held
		id op.SpanID
	}
	var around []open
	for _, i := range order {
		h := &events[i]
		for len(around) > 0 && !h.within(around[len(around)-1].held) {
			around = around[:len(around)-1]
		}
		n := len(around)
		r.ids++
		id := spanID(r.ids)
		if h.entry == nil || h.duration > 0 || n == 0 {
			around = append(around, open{h, id})
		} else if i := slices.IndexFunc(around,
			func(o open) bool { return o.entry != nil && o.start == h.start }); i >= 0 {
			n = i
		}
		above := parent
		if n > 0 {
			above = around[n-1].id
		}
		if h.entry == nil {
			d.give(op.Record{Span: &op.Span{
				Name: h.name, TraceID: r.trace, SpanID: id, ParentSpanID: above, Start: op.Known(h.start),
				Duration: h.duration,
			}})
			continue
		}
		e := h.entry
		e.TraceID = r.trace
		e.SpanID = id
		e.ParentSpanID = above
		if d.launches[e.DeviceID] {
			e.DeviceID = hostDevice
			e.Side = op.SideHost
		}
		d.give(op.Record{Entry: e})
		for _, k := range kernels[i] {
			e := events[k].entry
			r.ids++
			e.TraceID = r.trace
			e.SpanID = spanID(r.ids)
			e.ParentSpanID = above
			e.LaunchSpanID = id
			d.give(op.Record{Entry: e})
		}
	}
}

const maxRuns = 64

// runOf returns the last-started run around a node on a pool thread, nil if there is none.
func (d *decoder) runOf(h *held) *run {
	if h.entry == nil {
		return nil
	}
	i := sort.Search(len(d.runs), func(i int) bool { return d.runs[i].start > h.start })
	for n := i - 1; n >= max(0, i-maxRuns); n-- {
		if h.start < d.runs[n].end {
			return d.runs[n]
		}
	}
	return nil
}

func spanID(n uint64) (id op.SpanID) {
	binary.BigEndian.PutUint64(id[:], n)
	return id
}

// fingerprint returns a trace id that depends only on the events.
func fingerprint(events []held, order []int) (id op.TraceID) {
	h := fnv.New128a()
	var text []byte
	for _, i := range order {
		e := &events[i]
		text = append(text[:0], e.name...)
		if e.entry != nil {
			text = append(append(text, e.entry.Operation...), e.entry.Path...)
		}
		text = binary.AppendVarint(binary.AppendVarint(text, e.start), e.duration)
		_, _ = h.Write(text) // does not fail
	}
	h.Sum(id[:0])
	return id
}
