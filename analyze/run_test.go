package analyze_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

const collectorLines = `{"operation":"matmul","device_id":"cuda:0","duration_us":3,"start_unix_ns":1000,"trace_id":"00000000000000000000000000000001","span_id":"0000000000000002","parent_span_id":"0000000000000001"}
not JSON
{"span":{"name":"request","trace_id":"00000000000000000000000000000001","span_id":"0000000000000001","start_unix_ns":0,"duration_ns":9000}}
{"operation":"relu","device_id":"cuda:1","duration_us":1,"start_unix_ns":5000,"trace_id":"00000000000000000000000000000001","span_id":"0000000000000003","parent_span_id":"0000000000000001"}
`

// collect reads text into a new Collector.
func collect(tb testing.TB, text string, structure bool) *analyze.Collector {
	tb.Helper()
	c := analyze.NewCollector(analyze.DefaultOptions(), structure)
	for rec, err := range op.NewReader(strings.NewReader(text), "ops").Records() {
		if err := c.Add(rec, err); err != nil {
			tb.Fatal(err)
		}
	}
	return c
}

func TestCollector(t *testing.T) {
	r := collect(t, collectorLines, true).Report()
	if r.Input.Entries != 2 || r.Input.Spans != 3 || r.Input.Malformed != 1 || r.Total.SumNS != 4000 {
		t.Errorf("input %+v, total %+v", r.Input, r.Total)
	}
	if len(r.Devices) != 2 || r.Devices[0].SpanNS == nil {
		t.Errorf("devices %+v", r.Devices)
	}
	if r := collect(t, collectorLines, false).Report(); r.Devices[0].SpanNS != nil {
		t.Error("timelines without the structure")
	}
}

func TestCollectorFinalError(t *testing.T) {
	c := analyze.NewCollector(analyze.DefaultOptions(), true)
	failed := errors.New("disk gone")
	if err := c.Add(op.Record{}, failed); !errors.Is(err, failed) {
		t.Errorf("a final error comes back as %v", err)
	}
	if err := c.Add(op.Record{}, &op.SyntaxError{Msg: "bad"}); err != nil {
		t.Errorf("a bad record is %v", err)
	}
}

// Nothing is allocated per entry, whichever way it comes.
func TestCollectorAddDoesNotAllocate(t *testing.T) {
	c := analyze.NewCollector(analyze.DefaultOptions(), false)
	e := op.Entry{Operation: "matmul", DeviceID: "cuda:0", OutputShape: op.Shape{2, 3}, Duration: 1000}
	add := func() {
		if err := c.Add(op.Record{Entry: &e}, nil); err != nil {
			t.Fatal(err)
		}
		c.AddEntry(&e)
	}
	for range 1000 {
		add()
	}
	if n := testing.AllocsPerRun(1000, add); n != 0 {
		t.Errorf("%g allocations per entry", n)
	}
	if got := c.Report(); got.Total.Count != got.Input.Entries || got.Total.Count != 2*2001 {
		t.Errorf("%d entries, %d in the total", got.Input.Entries, got.Total.Count)
	}
}

func TestCollectorMerge(t *testing.T) {
	lines := strings.SplitAfter(collectorLines, "\n")
	// The positions of bad lines count from the start of each part.
	report := func(c *analyze.Collector) []byte {
		r := c.Report()
		r.Input.Problems = nil
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	want := report(collect(t, collectorLines, true))
	for cut := range lines {
		parts := collect(t, strings.Join(lines[:cut], ""), true)
		parts.Merge(collect(t, strings.Join(lines[cut:], ""), true))
		if got := report(parts); !bytes.Equal(want, got) {
			t.Errorf("cut at line %d:\n%s\nwhole:\n%s", cut, got, want)
		}
	}
}

func ExampleCollector() {
	c := analyze.NewCollector(analyze.DefaultOptions(), true)
	for rec, err := range op.NewReader(strings.NewReader(collectorLines), "ops.jsonl").Records() {
		if err := c.Add(rec, err); err != nil {
			fmt.Println(err)
		}
	}
	for _, o := range c.Report().Operations {
		fmt.Println(o.Operation, o.Count, o.SumNS)
	}
	// Output:
	// matmul 1 3000
	// relu 1 1000
}
