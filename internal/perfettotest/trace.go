package perfettotest

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Trace is what a viewer shows of a trace.
type Trace struct {
	// Tracks are the paths of the tracks, in the order in which they are described.
	Tracks   []string
	Slices   []*Slice
	Instants []*Slice
	Counters map[string][]Point
	// Flows lead from one name to another.
	Flows []Flow
}

// Slice is a slice or an instant on a track.
type Slice struct {
	Track, Name, Category string
	Start, End            uint64
	// Parent is the slice around it, nil for none.
	Parent *Slice `json:",omitempty"`
	Args   map[string]any
}

// Flow is an arrow between two slices.
type Flow struct{ From, To *Slice }

// Point is a value of a counter.
type Point struct {
	At    uint64
	Value int64
}

// viewer puts a trace together as trace_processor does.
type viewer struct {
	t     testing.TB
	trace *Trace
	paths map[uint64]string // of tracks
	// counters has the tracks that are counters.
	counters                map[uint64]bool
	categories, names, keys map[uint64]string
	open                    map[uint64][]*Slice
	flows                   map[uint64]*Slice
}

// Read reads a trace of one sequence, and fails if the events on a track do not nest, if
// anything is referred to that is not there, or if a flow does not lead anywhere.
func Read(t testing.TB, b []byte) *Trace {
	t.Helper()
	v := &viewer{
		t: t, trace: &Trace{Counters: make(map[string][]Point)}, paths: make(map[uint64]string), counters: make(map[uint64]bool),
		categories: make(map[uint64]string), names: make(map[uint64]string), keys: make(map[uint64]string),
		open: make(map[uint64][]*Slice), flows: make(map[uint64]*Slice),
	}
	packets := decode(t, b)
	for i, p := range packets {
		v.state(p, i == 0)
	}
	// Events are sorted by time, a signed number, those of one time as they stand in the file.
	slices.SortStableFunc(packets, func(a, b protoreflect.Message) int {
		return cmp.Compare(int64(field(a, "timestamp").Uint()), int64(field(b, "timestamp").Uint()))
	})
	for _, p := range packets {
		if has(p, "track_event") {
			v.event(field(p, "timestamp").Uint(), field(p, "track_event").Message())
		}
	}
	for uuid, open := range v.open {
		if len(open) > 0 {
			t.Errorf("%d slices on the track %q have no end", len(open), v.paths[uuid])
		}
	}
	for id := range v.flows {
		t.Errorf("the flow %d does not end", id)
	}
	return v.trace
}

// state takes what events refer to.
func (v *viewer) state(p protoreflect.Message, isFirst bool) {
	v.t.Helper()
	if field(p, "trusted_packet_sequence_id").Uint() == 0 {
		v.t.Fatal("a packet without a sequence")
	}
	const cleared, needs = 1, 2
	want := uint64(needs)
	if isFirst {
		want = cleared
	}
	if got := field(p, "sequence_flags").Uint(); got != want {
		v.t.Fatalf("flags %d, want %d", got, want)
	}
	data := field(p, "interned_data").Message()
	for _, table := range []struct {
		field protoreflect.Name
		texts map[uint64]string
	}{{"event_categories", v.categories}, {"event_names", v.names}, {"debug_annotation_names", v.keys}} {
		list := field(data, table.field).List()
		for i := range list.Len() {
			m := list.Get(i).Message()
			id := field(m, "iid").Uint()
			if _, ok := table.texts[id]; ok || id == 0 {
				v.t.Fatalf("%s has the number %d twice, or it is 0", table.field, id)
			}
			table.texts[id] = field(m, "name").String()
		}
	}
	if has(p, "track_descriptor") {
		v.descriptor(field(p, "track_descriptor").Message())
	}
}

// descriptor takes a track, whose parent stands in front of it.
func (v *viewer) descriptor(d protoreflect.Message) {
	v.t.Helper()
	uuid, path := field(d, "uuid").Uint(), field(d, "name").String()
	if has(d, "parent_uuid") {
		path = v.path(field(d, "parent_uuid").Uint()) + "/" + path
	} else if field(field(d, "process").Message(), "process_name").String() != path {
		v.t.Fatalf("the track %q is no process and has no parent", path)
	}
	if has(d, "counter") {
		path += "=" + field(field(d, "counter").Message(), "unit_name").String()
		v.counters[uuid] = true
	}
	if _, ok := v.paths[uuid]; ok || uuid == 0 || slices.Contains(v.trace.Tracks, path) {
		v.t.Fatalf("the track %d, %q, is there twice", uuid, path)
	}
	v.paths[uuid] = path
	v.trace.Tracks = append(v.trace.Tracks, path)
}

// path returns the path of a track, which must be known.
func (v *viewer) path(uuid uint64) string {
	v.t.Helper()
	path, ok := v.paths[uuid]
	if !ok {
		v.t.Fatalf("no track %d", uuid)
	}
	return path
}

// text returns an interned text, which must be known.
func (v *viewer) text(table map[uint64]string, id uint64) string {
	v.t.Helper()
	text, ok := table[id]
	if !ok {
		v.t.Fatalf("nothing is interned as %d", id)
	}
	return text
}

// event takes an event.
func (v *viewer) event(at uint64, e protoreflect.Message) {
	v.t.Helper()
	uuid := field(e, "track_uuid").Uint()
	path := v.path(uuid)
	kind := field(e, "type").Int()
	const begin, end, instant, counter = 1, 2, 3, 4
	if v.counters[uuid] != (kind == counter) {
		v.t.Fatalf("an event of type %d on the track %q", kind, path)
	}
	switch kind {
	case begin:
		s := v.slice(at, e, path)
		open := v.open[uuid]
		if len(open) > 0 {
			s.Parent = open[len(open)-1]
		}
		v.open[uuid] = append(open, s)
		v.trace.Slices = append(v.trace.Slices, s)
	case end:
		open := v.open[uuid]
		if len(open) == 0 {
			v.t.Fatalf("an end on the track %q, where nothing is open", path)
		}
		open[len(open)-1].End = at
		v.open[uuid] = open[:len(open)-1]
	case instant:
		v.trace.Instants = append(v.trace.Instants, v.slice(at, e, path))
	case counter:
		v.trace.Counters[path] = append(v.trace.Counters[path], Point{at, field(e, "counter_value").Int()})
	default:
		v.t.Fatalf("an event of type %d", kind)
	}
}

// slice returns what begins at a time.
func (v *viewer) slice(at uint64, e protoreflect.Message, path string) *Slice {
	v.t.Helper()
	s := &Slice{Track: path, Start: at, End: at, Name: v.text(v.names, field(e, "name_iid").Uint())}
	var categories []string
	ids := field(e, "category_iids").List()
	for i := range ids.Len() {
		categories = append(categories, v.text(v.categories, ids.Get(i).Uint()))
	}
	s.Category = strings.Join(categories, ",")
	s.Args = v.entries(field(e, "debug_annotations").List())
	ends := field(e, "terminating_flow_ids").List()
	for i := range ends.Len() {
		id := ends.Get(i).Uint()
		if v.flows[id] == nil {
			v.t.Fatalf("the flow %d ends before it starts", id)
		}
		v.trace.Flows = append(v.trace.Flows, Flow{v.flows[id], s})
		delete(v.flows, id)
	}
	starts := field(e, "flow_ids").List()
	for i := range starts.Len() {
		v.flows[starts.Get(i).Uint()] = s
	}
	return s
}

// entries returns annotations by name.
func (v *viewer) entries(list protoreflect.List) map[string]any {
	v.t.Helper()
	all := make(map[string]any)
	for i := range list.Len() {
		a := list.Get(i).Message()
		all[v.text(v.keys, field(a, "name_iid").Uint())] = v.value(a)
	}
	return all
}

// value returns the value of an annotation, nil for none.
func (v *viewer) value(a protoreflect.Message) any {
	v.t.Helper()
	switch {
	case has(a, "dict_entries"):
		return v.entries(field(a, "dict_entries").List())
	case has(a, "array_values"):
		list := field(a, "array_values").List()
		values := make([]any, list.Len())
		for i := range values {
			values[i] = v.value(list.Get(i).Message())
		}
		return values
	case has(a, "nested_value"): // an empty list
		return []any{}
	}
	for _, name := range []protoreflect.Name{"bool_value", "int_value", "string_value"} {
		if has(a, name) {
			return field(a, name).Interface()
		}
	}
	return nil
}
