package perfetto

import (
	"bufio"
	"fmt"
	"io"

	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/render/internal/timeline"
	"github.com/optrace/optrace/render/internal/wire"
)

const writeSize = 256 << 10

const internedSize = 32 << 10 // about the largest size of a packet of interned names

const sequence = int64(1)

// Write writes the timeline as one trace.
func (t *Timeline) Write(w io.Writer) error {
	out := &writer{w: bufio.NewWriterSize(w, writeSize), base: t.events.Base()}
	l := layoutOf(&t.events)
	out.clocks()
	out.intern(t)
	for i := range l.tracks {
		out.track(int64(i+1), &l.tracks[i])
	}
	out.counters(l)
	out.slices(&t.events, l, flowsOf(&t.events))
	if err := out.w.Flush(); err != nil {
		return fmt.Errorf("writing Perfetto trace: %w", err)
	}
	return nil
}

type writer struct {
	w      *bufio.Writer // keeps the first error for Flush
	base   int64
	buf    []byte // scratch, and so are the fields of an event
	fields message

	categories, labels symbols.Table[string]
	cleared            bool // a packet has cleared the state of the sequence
}

func (w *writer) packet(fields ...wire.Field) {
	flags := needsState
	if !w.cleared {
		flags = stateCleared
		w.cleared = true
	}
	packet := append(make(message, 0, 4), fields...)
	packet = append(packet, wire.F(10, "trusted_packet_sequence_id", sequence), wire.F(13, "sequence_flags", flags))
	w.buf = message{wire.F(1, "packet", packet)}.AppendProto(w.buf[:0])
	w.w.Write(w.buf)
}

func timestamp(at int64) wire.Field { return wire.F(8, "timestamp", wire.Always{Of: at}) }

// clocks relates the clock of the trace to real time.
func (w *writer) clocks() {
	var clocks []message
	for _, id := range []int32{clockBoottime, clockRealtime} {
		clocks = append(clocks, message{wire.F(1, "clock_id", id), wire.F(2, "timestamp", wire.Always{Of: w.base})})
	}
	w.packet(timestamp(w.base), wire.F(6, "clock_snapshot", message{wire.F(1, "clocks", clocks)}))
}

func (w *writer) intern(t *Timeline) {
	for i := range t.events.Slices {
		w.categories.ID(t.events.Slices[i].Category)
		w.labels.ID(t.events.Slices[i].Label)
	}
	var data []byte
	end := func(least int) {
		if len(data) >= least {
			w.packet(wire.F(12, "interned_data", data))
			data = data[:0]
		}
	}
	for _, kind := range []struct {
		number int
		name   string
		names  []string
	}{
		{1, "event_categories", w.categories.Values}, {2, "event_names", w.labels.Values},
		{3, "debug_annotation_names", t.keys.Values},
	} {
		for i, name := range kind.names {
			one := message{wire.F(1, "iid", int64(i+1)), wire.F(2, "name", wire.Text(name))}
			data = message{wire.F(kind.number, kind.name, one)}.AppendProto(data)
			end(internedSize)
		}
	}
	end(1)
}

func (w *writer) track(uuid int64, t *track) {
	m := message{wire.F(1, "uuid", uuid), wire.F(2, "name", wire.Text(t.title))}
	if t.parent == 0 {
		process := message{wire.F(1, "pid", uuid), wire.F(6, "process_name", wire.Text(t.title))}
		m = append(m, wire.F(3, "process", process), wire.F(11, "child_ordering", orderExplicit))
	} else {
		m = append(m, wire.F(5, "parent_uuid", t.parent), wire.F(12, "sibling_order_rank", int64(t.rank)))
	}
	if t.counter != nil {
		unit := wire.F(3, "unit", unitBytes)
		if t.counter.IsPercent {
			unit = wire.F(6, "unit_name", "%")
		}
		m = append(m, wire.F(8, "counter", message{unit}))
	}
	w.packet(wire.F(60, "track_descriptor", m))
}

func (w *writer) counters(l *layout) {
	for i := range l.tracks {
		c := l.tracks[i].counter
		if c == nil {
			continue
		}
		for _, p := range c.Points {
			w.event(p.At, typeCounter, int64(i+1), wire.F(30, "counter_value", wire.Always{Of: p.Value}))
		}
	}
}

func (w *writer) event(at int64, kind int32, track int64, more ...wire.Field) {
	w.fields = append(append(w.fields[:0], wire.F(9, "type", kind), wire.F(11, "track_uuid", track)), more...)
	w.packet(timestamp(at), wire.F(11, "track_event", w.fields))
}

// slices writes the slices track by track, in order of time on each, and ends the slices of a pass before the next one.
func (w *writer) slices(t *timeline.Timeline, l *layout, f *flows) {
	open := make([][]*timeline.Slice, len(l.lanes)) // by lane, innermost last
	for _, pass := range t.Passes() {
		for i, s := range pass {
			open[s.Lane] = w.close(open[s.Lane], l.lanes[s.Lane], func(o *timeline.Slice) bool {
				return o.End() <= s.Start
			})
			if hasLaunch(s) {
				w.slice(s.Launch.V, typeInstant, l.launches[s.Lane], s, "", f, f.launch(i))
			}
			w.slice(w.start(s), typeBegin, l.lanes[s.Lane], s, s.Args, f, i)
			open[s.Lane] = append(open[s.Lane], s)
		}
		for lane := range open {
			open[lane] = w.close(open[lane], l.lanes[lane], func(*timeline.Slice) bool { return true })
		}
	}
}

// slice writes an event of a slice with arguments and the flows of a node.
func (w *writer) slice(at int64, kind int32, track int64, s *timeline.Slice, args string, f *flows, node int) {
	w.event(at, kind, track, wire.F(10, "name_iid", int64(w.labels.ID(s.Label))+1),
		wire.F(3, "category_iids", int64(w.categories.ID(s.Category))+1),
		wire.F(4, "debug_annotations", wire.Encoded(args)), wire.F(47, "flow_ids", f.starts[node]),
		wire.F(48, "terminating_flow_ids", f.ends[node]))
}

// close ends the innermost open slices while they are done, and returns the others.
func (w *writer) close(open []*timeline.Slice, track int64, done func(*timeline.Slice) bool) []*timeline.Slice {
	for len(open) > 0 && done(open[len(open)-1]) {
		s := open[len(open)-1]
		// Sums beyond 64 bits wrap around; the difference still equals the duration.
		w.event(w.start(s)+s.Duration, typeEnd, track)
		open = open[:len(open)-1]
	}
	return open
}

// start returns the start of a slice in the trace. Slices without a start follow the first known start.
func (w *writer) start(s *timeline.Slice) int64 {
	if s.Bare {
		return w.base + s.Start
	}
	return s.Start
}
