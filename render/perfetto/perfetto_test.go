package perfetto_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/perfettotest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/perfetto"
)

const start = 1795224124978150123

func entry(name, device string, from, duration int64) *op.Entry {
	return &op.Entry{Operation: name, Kind: op.KindCompute, DeviceID: device, Start: op.Known(start + from),
		Duration: duration}
}

// write returns a viewer's model of a timeline.
func write(t *testing.T, tl *perfetto.Timeline) *view {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, tl.Write(&b))
	return viewOf(t, b.Bytes())
}

// describe writes a trace as text, with times from start on.
func describe(t *testing.T, trace *view) []byte {
	t.Helper()
	var b strings.Builder
	name := func(s *slice) string {
		return fmt.Sprintf("%s: %s [%d,%d)", s.track, s.name, s.start-start, s.end-start)
	}
	for _, track := range trace.tracks {
		fmt.Fprintf(&b, "track %s\n", track)
	}
	for _, s := range append(slices.Clone(trace.slices), trace.instants...) {
		fmt.Fprintf(&b, "%s %s\n", name(s), s.category)
	}
	for _, f := range trace.flows {
		fmt.Fprintf(&b, "flow %s -> %s\n", name(f[0]), name(f[1]))
	}
	for _, track := range trace.tracks {
		for _, p := range trace.counters[track] {
			fmt.Fprintf(&b, "%s: %d from %d\n", track, p[1], p[0]-start)
		}
	}
	return []byte(b.String())
}

func TestGolden(t *testing.T) {
	var tl perfetto.Timeline
	for _, rec := range recordtest.File(t, "testdata/records.jsonl") {
		if rec.Span != nil {
			tl.AddSpan(rec.Span)
		} else {
			tl.Add(rec.Entry)
		}
	}
	golden.Check(t, "testdata/timeline.txt", describe(t, write(t, &tl)))
}

// In random traces, slices nest on their tracks, and the counter of memory matches the running operations.
func TestSlicesNest(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		var tl perfetto.Timeline
		memory := make(map[string][]*op.Entry)
		for i := range rng.IntN(60) {
			e := entry(fmt.Sprint("op", i), []string{"cuda:0", "cuda:1", ""}[rng.IntN(3)], rng.Int64N(1000),
				rng.Int64N(200))
			if rng.IntN(2) == 0 {
				e.Stream = op.Known(rng.Int64N(2))
			}
			if rng.IntN(2) == 0 {
				e.MemoryBytes = op.Known(rng.Int64N(100))
				memory[e.DeviceID] = append(memory[e.DeviceID], e)
			}
			tl.Add(e)
		}
		trace := write(t, &tl)
		for device, entries := range memory {
			points := trace.counters["devices/"+cmp.Or(device, "unknown")+" memory in use="]
			for at := int64(start); at < start+1300; at += 7 {
				running := int64(0)
				for _, e := range entries {
					if e.Start.V <= at && at < e.Start.V+e.Duration {
						running += e.MemoryBytes.V
					}
				}
				shown := int64(0)
				for _, p := range points {
					if p[0] <= at {
						shown = p[1]
					}
				}
				if shown != running {
					t.Fatalf("%s: %d bytes at %d, want %d", device, shown, at-start, running)
				}
			}
		}
	}
}

// The utilisation is the busy part of each bucket.
func TestUtilisation(t *testing.T) {
	var tl perfetto.Timeline
	tl.Add(entry("a", "cuda:0", 0, 1000))
	tl.Add(entry("b", "cuda:0", 500, 1000))    // to 1500
	tl.Add(entry("c", "cuda:0", 49_000, 1000)) // to 50000: buckets of 100
	tl.Add(entry("d", "cuda:0", 2_030, 50))
	host := entry("e", "cuda:0", 3000, 9000)
	host.Side = op.SideHost
	tl.Add(host)
	want := [][2]int64{{0, 100}, {1500, 0}, {2000, 50}, {2100, 0}, {49_000, 100}, {50_000, 0}}
	var got [][2]int64
	for _, p := range write(t, &tl).counters["devices/cuda:0 utilisation=%"] {
		got = append(got, [2]int64{p[0] - start, p[1]})
	}
	check.Equal(t, "", want, got)
}

// A span with very many operations has no more flows than a viewer can show.
func TestFlowsAreLimited(t *testing.T) {
	var tl perfetto.Timeline
	tl.AddSpan(&op.Span{Name: "r", TraceID: op.TraceID{1}, SpanID: op.SpanID{1}, Start: op.Known(start), Duration: 1})
	for i := range 1<<12 + 10 {
		e := entry("op", "cpu", int64(i), 1)
		e.TraceID = op.TraceID{1}
		e.SpanID = op.SpanID{2, byte(i >> 8), byte(i)}
		e.ParentSpanID = op.SpanID{1}
		tl.Add(e)
	}
	check.Equal(t, "flows", 1<<12, len(write(t, &tl).flows))
}

// For any names and times, the trace matches the public schema and has all times.
func FuzzWrite(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		var tl perfetto.Timeline
		tl.Add(e)
		tl.Add(e)
		trace := write(t, &tl)
		if len(trace.slices) != 2 {
			t.Fatalf("%d slices", len(trace.slices))
		}
		for _, s := range trace.slices {
			if s.name != e.Operation || s.start != e.Start.V || s.end-s.start != e.Duration {
				t.Errorf("%+v of %+v", s, e)
			}
		}
	})
}

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
		counters: make(map[string][][2]int64), paths: make(map[uint64]string), categories: make(map[uint64]string),
		names: make(map[uint64]string), open: make(map[uint64][]*slice), starts: make(map[uint64]*slice),
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
