package perfetto_test

import (
	"cmp"
	"slices"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/optrace/optrace/internal/testing/perfettotest"
)

// view is a viewer's model of a trace.
type view struct {
	tracks            []string // their paths, in order of description
	slices, instants  []*slice
	counters          map[string][][2]int64 // times and values by track
	flows             [][2]*slice
	paths             map[uint64]string // of tracks, by uuid
	categories, names map[uint64]string
	open              map[uint64][]*slice
	starts            map[uint64]*slice // of open flows
}

// slice is a slice or an instant on a track.
type slice struct {
	track, name, category string
	start, end            int64
}

// viewOf reads a trace as trace_processor does. It fails if the trace violates the public schema, if slices on a track
// do not nest, or if a reference or a flow has no target.
func viewOf(t *testing.T, b []byte) *view {
	t.Helper()
	v := &view{
		counters: make(map[string][][2]int64),
		paths:    make(map[uint64]string), categories: make(map[uint64]string), names: make(map[uint64]string),
		open: make(map[uint64][]*slice), starts: make(map[uint64]*slice),
	}
	packets := perfettotest.Decode(t, b)
	for i, p := range packets {
		flags := perfettotest.Field(p, "sequence_flags").Uint()
		// cleared, then needed
		if perfettotest.Field(p, "trusted_packet_sequence_id").Uint() == 0 || flags != uint64(min(i, 1)+1) {
			t.Fatalf("packet %d is of no sequence, or has the flags %d", i, flags)
		}
		v.intern(perfettotest.Field(p, "interned_data").Message())
		if perfettotest.Has(p, "track_descriptor") {
			v.track(t, perfettotest.Field(p, "track_descriptor").Message())
		}
	}
	// Events are sorted by time, equal times in file order.
	slices.SortStableFunc(packets, func(a, b protoreflect.Message) int { return cmp.Compare(timeOf(a), timeOf(b)) })
	for _, p := range packets {
		if perfettotest.Has(p, "track_event") {
			v.event(t, timeOf(p), perfettotest.Field(p, "track_event").Message())
		}
	}
	for uuid, open := range v.open {
		if len(open) > 0 {
			t.Errorf("%d slices on the track %q have no end", len(open), v.paths[uuid])
		}
	}
	if len(v.starts) > 0 {
		t.Errorf("%d flows do not end", len(v.starts))
	}
	return v
}

func timeOf(packet protoreflect.Message) int64 {
	return int64(perfettotest.Field(packet, "timestamp").Uint())
}

func (v *view) intern(data protoreflect.Message) {
	for name, texts := range map[protoreflect.Name]map[uint64]string{
		"event_categories": v.categories, "event_names": v.names,
	} {
		list := perfettotest.Field(data, name).List()
		for i := range list.Len() {
			m := list.Get(i).Message()
			texts[perfettotest.Field(m, "iid").Uint()] = perfettotest.Field(m, "name").String()
		}
	}
}

// text returns the text of a number in a table.
func text(t *testing.T, table map[uint64]string, number uint64) string {
	t.Helper()
	text, ok := table[number]
	if !ok {
		t.Fatalf("nothing is known as %d", number)
	}
	return text
}

// track takes a track. Its parent precedes it.
func (v *view) track(t *testing.T, d protoreflect.Message) {
	t.Helper()
	path := perfettotest.Field(d, "name").String()
	if perfettotest.Has(d, "parent_uuid") {
		path = text(t, v.paths, perfettotest.Field(d, "parent_uuid").Uint()) + "/" + path
	} else if perfettotest.Field(perfettotest.Field(d, "process").Message(), "process_name").String() != path {
		t.Fatalf("the track %q is no process and has no parent", path)
	}
	if perfettotest.Has(d, "counter") {
		path += "=" + perfettotest.Field(perfettotest.Field(d, "counter").Message(), "unit_name").String()
	}
	if slices.Contains(v.tracks, path) {
		t.Fatalf("the track %q is there twice", path)
	}
	v.paths[perfettotest.Field(d, "uuid").Uint()] = path
	v.tracks = append(v.tracks, path)
}

func (v *view) event(t *testing.T, at int64, e protoreflect.Message) {
	t.Helper()
	uuid := perfettotest.Field(e, "track_uuid").Uint()
	path := text(t, v.paths, uuid)
	open := v.open[uuid]
	switch perfettotest.Field(e, "type").Int() {
	case 1:
		s := v.slice(t, at, e, path)
		v.slices = append(v.slices, s)
		v.open[uuid] = append(open, s)
	case 2:
		if len(open) == 0 {
			t.Fatalf("an end on the track %q, where nothing is open", path)
		}
		open[len(open)-1].end = at
		v.open[uuid] = open[:len(open)-1]
	case 3:
		v.instants = append(v.instants, v.slice(t, at, e, path))
	case 4:
		v.counters[path] = append(v.counters[path], [2]int64{at, perfettotest.Field(e, "counter_value").Int()})
	}
}

// slice returns the slice that begins at a time.
func (v *view) slice(t *testing.T, at int64, e protoreflect.Message, path string) *slice {
	t.Helper()
	s := &slice{track: path, start: at, end: at, name: text(t, v.names, perfettotest.Field(e, "name_iid").Uint())}
	if ids := perfettotest.Field(e, "category_iids").List(); ids.Len() > 0 {
		s.category = text(t, v.categories, ids.Get(0).Uint())
	}
	ends := perfettotest.Field(e, "terminating_flow_ids").List()
	for i := range ends.Len() {
		from, ok := v.starts[ends.Get(i).Uint()]
		if !ok {
			t.Fatalf("a flow ends at %q before it starts", s.name)
		}
		v.flows = append(v.flows, [2]*slice{from, s})
		delete(v.starts, ends.Get(i).Uint())
	}
	starts := perfettotest.Field(e, "flow_ids").List()
	for i := range starts.Len() {
		v.starts[starts.Get(i).Uint()] = s
	}
	return s
}
