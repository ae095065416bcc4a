package perfetto

import (
	"bufio"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/optrace/optrace/render/internal/timeline"
)

// writeSize is the number of bytes that are collected before they are written.
const writeSize = 256 << 10

// internedSize is about how large a packet of interned names gets.
const internedSize = 32 << 10

// sequence is the number of the one sequence of packets.
const sequence = 1

// Write writes the timeline as one trace.
func (t *Timeline) Write(w io.Writer) error {
	out := &writer{w: bufio.NewWriterSize(w, writeSize), base: t.events.Base()}
	l := layoutOf(&t.events)
	out.clocks()
	out.intern(t)
	for i := range l.tracks {
		out.track(uint64(i+1), &l.tracks[i])
	}
	out.counters(l)
	out.slices(&t.events, l, flowsOf(&t.events))
	if err := out.w.Flush(); err != nil {
		return fmt.Errorf("writing Perfetto trace: %w", err)
	}
	return nil
}

// writer writes packets.
type writer struct {
	w    *bufio.Writer // which keeps the first error for Flush
	base int64
	buf  []byte // scratch

	categories, labels names
	cleared            bool   // a packet says that the state of the sequence is new
	packet, event      []byte // scratch
}

// end writes the packet with a message in it.
func (w *writer) end(field protowire.Number, message []byte) {
	w.packet = appendMessage(w.packet, field, message)
	w.packet = appendUint(w.packet, packetSequenceID, sequence)
	flags := uint64(needsState)
	if !w.cleared {
		flags, w.cleared = stateCleared, true
	}
	w.packet = appendUint(w.packet, packetSequenceFlags, flags)
	w.buf = appendMessage(w.buf[:0], tracePacket, w.packet)
	w.w.Write(w.buf)
	w.packet = w.packet[:0]
}

// clocks writes that the clock of the trace is real time.
func (w *writer) clocks() {
	var snapshot []byte
	for _, id := range []uint64{clockBoottime, clockRealtime} {
		snapshot = appendMessage(snapshot, snapshotClocks, appendUint(appendUint(nil, clockID, id), clockTimestamp, uint64(w.base)))
	}
	w.at(w.base)
	w.end(packetClockSnapshot, snapshot)
}

// intern writes the names that events refer to.
func (w *writer) intern(t *Timeline) {
	for i := range t.events.Slices {
		w.categories.id(t.events.Slices[i].Category)
		w.labels.id(t.events.Slices[i].Label)
	}
	var data []byte
	for _, kind := range []struct {
		field protowire.Number
		names []string
	}{
		{internedCategories, w.categories.list}, {internedNames, w.labels.list}, {internedAnnotationNames, t.keys.list},
	} {
		for i, name := range kind.names {
			data = appendMessage(data, kind.field, appendText(appendUint(nil, internedIID, uint64(i+1)), internedName, name))
			if len(data) >= internedSize {
				w.end(packetInternedData, data)
				data = data[:0]
			}
		}
	}
	if len(data) > 0 {
		w.end(packetInternedData, data)
	}
}

// track writes what a track is.
func (w *writer) track(uuid uint64, t *track) {
	b := appendText(appendUint(nil, trackUUID, uuid), trackName, t.title)
	if t.parent == 0 {
		b = appendMessage(b, trackProcess, appendText(appendUint(nil, processPID, uuid), processName, t.title))
		b = appendUint(b, trackChildOrdering, orderExplicit)
	} else {
		b = appendUint(appendUint(b, trackParentUUID, t.parent), trackSiblingRank, uint64(t.rank))
	}
	if t.counter != nil {
		unit := appendText(nil, counterUnitName, "%")
		if t.counter.Unit == timeline.MemoryInUse {
			unit = appendUint(nil, counterUnit, unitBytes)
		}
		b = appendMessage(b, trackCounter, unit)
	}
	w.end(packetTrackDescriptor, b)
}

// counters writes the values of counters.
func (w *writer) counters(l *layout) {
	for i := range l.tracks {
		c := l.tracks[i].counter
		if c == nil {
			continue
		}
		for _, p := range c.Points {
			w.begin(p.At, typeCounter, uint64(i+1))
			w.event = appendUint(w.event, eventCounterValue, uint64(p.Value))
			w.end(packetTrackEvent, w.event)
		}
	}
}

// at sets the time of the packet.
func (w *writer) at(at int64) { w.packet = appendUint(w.packet, packetTimestamp, uint64(at)) }

// begin starts an event on a track.
func (w *writer) begin(at int64, kind, track uint64) {
	w.at(at)
	w.event = appendUint(appendUint(w.event[:0], eventType, kind), eventTrackUUID, track)
}

// slices writes the slices track by track, in order of time on each, and ends those of a pass before the next one.
func (w *writer) slices(t *timeline.Timeline, l *layout, f *flows) {
	open := make([][]*timeline.Slice, len(l.lanes)) // by lane, those that have begun, innermost last
	for pass := range t.Passes() {
		for i, s := range pass {
			open[s.Lane] = w.close(open[s.Lane], l.lanes[s.Lane], func(o *timeline.Slice) bool { return o.End() <= s.Start })
			if hasLaunch(s) {
				w.begin(s.Launch.V, typeInstant, l.launches[s.Lane])
				w.event = f.appendTo(w.named(s), f.launch(i))
				w.end(packetTrackEvent, w.event)
			}
			w.begin(w.start(s), typeBegin, l.lanes[s.Lane])
			w.event = f.appendTo(append(w.named(s), s.Args...), i)
			w.end(packetTrackEvent, w.event)
			open[s.Lane] = append(open[s.Lane], s)
		}
		for lane := range open {
			open[lane] = w.close(open[lane], l.lanes[lane], func(*timeline.Slice) bool { return true })
		}
	}
}

// named returns the event with the name and category of a slice.
func (w *writer) named(s *timeline.Slice) []byte {
	b := appendUint(w.event, eventNameIID, w.labels.id(s.Label))
	return appendUint(b, eventCategoryIIDs, w.categories.id(s.Category))
}

// close ends the innermost of the open slices as long as they are done, and returns the
// others.
func (w *writer) close(open []*timeline.Slice, track uint64, done func(*timeline.Slice) bool) []*timeline.Slice {
	for len(open) > 0 && done(open[len(open)-1]) {
		s := open[len(open)-1]
		// A sum beyond 64 bits wraps around, and the difference is the duration all the same.
		w.begin(w.start(s)+s.Duration, typeEnd, track)
		w.end(packetTrackEvent, w.event)
		open = open[:len(open)-1]
	}
	return open
}

// start returns when a slice begins. Those without a start follow the first one that has
// one.
func (w *writer) start(s *timeline.Slice) int64 {
	if s.Bare {
		return w.base + s.Start
	}
	return s.Start
}
