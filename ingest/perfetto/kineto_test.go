package perfetto_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/ingest/perfetto"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/internal/perfettotest"
	"github.com/optrace/optrace/op"
)

// chromeEvent is an event of a Chrome trace.
type chromeEvent struct {
	Ph, Cat, Name string
	Pid, Tid      json.RawMessage
	Ts, Dur       json.Number
	Args          map[string]any
	start, dur    int64
	track         string
}

// asPerfetto returns a trace of Perfetto, as text, with the complete events of a Chrome
// trace: each thread is a track, and each event of a device a track of its own, since these
// overlap.
func asPerfetto(t *testing.T, text []byte) string {
	t.Helper()
	var doc struct {
		Base   int64         `json:"baseTimeNanoseconds"`
		Events []chromeEvent `json:"traceEvents"`
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if text[0] == '[' {
		check.OK(t, dec.Decode(&doc.Events))
	} else if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	events := slicesOf(doc.Events)
	slices.SortStableFunc(events, func(a, b *chromeEvent) int {
		return cmp.Or(cmp.Compare(a.track, b.track), cmp.Compare(a.start, b.start), cmp.Compare(b.dur, a.dur))
	})
	var b strings.Builder
	if doc.Base != 0 {
		fmt.Fprintf(&b, "packet { clock_snapshot { clocks { clock_id: 6 timestamp: 0 } clocks { clock_id: 1 timestamp: %d } } }\n", doc.Base)
	}
	var open []*chromeEvent
	tracks := make(map[string]int)
	finish := func(done func(e *chromeEvent) bool) {
		for len(open) > 0 && done(open[len(open)-1]) {
			e := open[len(open)-1]
			fmt.Fprintf(&b, "packet { timestamp: %d track_event { type: 2 track_uuid: %d } }\n", e.start+e.dur, tracks[e.track])
			open = open[:len(open)-1]
		}
	}
	for _, e := range events {
		finish(func(o *chromeEvent) bool { return o.track != e.track || o.start+o.dur <= e.start })
		if tracks[e.track] == 0 {
			tracks[e.track] = len(tracks) + 1
			pid, _ := jsontext.ParseInt(e.Pid)
			fmt.Fprintf(&b, "packet { track_descriptor { uuid: %d thread { pid: %d tid: 1 } } }\n", tracks[e.track], pid)
		}
		fmt.Fprintf(&b, "packet { timestamp: %d track_event { type: 1 track_uuid: %d name: %q categories: %q",
			e.start, tracks[e.track], e.Name, e.Cat)
		for key, v := range e.Args {
			fmt.Fprintf(&b, " debug_annotations { name: %q %s }", key, annotation(v))
		}
		fmt.Fprintf(&b, " } }\n")
		open = append(open, e)
	}
	finish(func(*chromeEvent) bool { return true })
	return b.String()
}

// slicesOf returns the events that are slices, pairs of a beginning and an end among them.
func slicesOf(all []chromeEvent) (events []*chromeEvent) {
	open := make(map[string][]*chromeEvent)
	for i := range all {
		e := &all[i]
		e.start, _ = jsontext.ParseMicros([]byte(e.Ts.String()))
		e.dur, _ = jsontext.ParseMicros([]byte(e.Dur.String()))
		e.track = string(e.Pid) + "/" + string(e.Tid)
		switch e.Ph {
		case "B":
			open[e.track] = append(open[e.track], e)
		case "E":
			if n := len(open[e.track]); n > 0 {
				b := open[e.track][n-1]
				open[e.track] = open[e.track][:n-1]
				b.dur = e.start - b.start
				maps.Copy(b.Args, e.Args)
				events = append(events, b)
			}
		case "X":
			if e.Args["stream"] != nil || e.Args["device"] != nil {
				e.track = fmt.Sprint(i)
			}
			device, err := strconv.Atoi(string(e.Pid))
			if e.Args["stream"] != nil && e.Args["device"] == nil && err == nil {
				e.Args["device"] = json.Number(strconv.Itoa(device)) // in JSON it is the process
			}
			events = append(events, e)
		}
	}
	return events
}

// annotation returns a value of JSON as the value of an annotation.
func annotation(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("string_value: %q", v)
	case bool:
		return fmt.Sprintf("bool_value: %v", v)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return fmt.Sprintf("int_value: %d", n)
		}
		return "double_value: " + v.String()
	case []any:
		if len(v) == 0 {
			return "nested_value { nested_type: 2 }"
		}
		var b strings.Builder
		for _, e := range v {
			fmt.Fprintf(&b, "array_values { %s } ", annotation(e))
		}
		return b.String()
	case map[string]any:
		var b strings.Builder
		for key, e := range v {
			fmt.Fprintf(&b, "dict_entries { name: %q %s } ", key, annotation(e))
		}
		return b.String()
	}
	return ""
}

// The ids that the reader makes up follow the order of the events.
var (
	ids  = regexp.MustCompile(`,"trace_id":"6f70747261636501[^"]*","span_id":"[^"]*"(,"parent_span_id":"[^"]*")?|,"launch_span_id":"[^"]*"`)
	rank = regexp.MustCompile(`,"rank":[0-9]+`)
)

// operations returns the operations of a trace, each with the start and name of its parent,
// sorted, without what only the JSON states.
func operations(t *testing.T, records iter.Seq2[op.Record, error]) []string {
	t.Helper()
	var entries []*op.Entry
	names := make(map[op.SpanID]string)
	for rec, err := range records {
		check.OK(t, err)
		if e := rec.Entry; e != nil {
			entries = append(entries, e.Clone())
			names[e.SpanID] = fmt.Sprint(e.Operation, " at ", e.Start)
		}
	}
	var lines []string
	for _, e := range entries {
		line := ids.ReplaceAllString(string(e.AppendJSON(nil)), "")
		line = rank.ReplaceAllString(line, "")
		lines = append(lines, line+" below "+names[e.ParentSpanID]+" by "+names[e.LaunchSpanID])
	}
	slices.Sort(lines)
	return lines
}

// What Kineto writes as JSON means the same as TrackEvents.
func TestKinetoAsTrackEvents(t *testing.T) {
	files, err := filepath.Glob("../kineto/testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no traces:", err)
	}
	n := 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text := readFile(t, file)
			want := operations(t, kineto.Records(bytes.NewReader(text), "trace", nil))
			trace := perfettotest.Encode(t, asPerfetto(t, text))
			got := operations(t, perfetto.Records(bytes.NewReader(trace), "trace", nil))
			check.Equal(t, "TrackEvents against JSON", want, got)
			n += len(got)
		})
	}
	if n < 15 {
		t.Errorf("%d operations", n)
	}
}
