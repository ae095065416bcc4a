package entries_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// goldenRecords are records of every kind, each as a line.
func goldenRecords() []string {
	line := func(b []byte) string { return string(b) + "\n" }
	request := op.Span{
		Name: "POST /predict", TraceID: optest.TraceID, SpanID: optest.ParentID, ParentSpanID: optest.SpanID,
		RemoteParent: true,
		Start:        op.Known(1_700_000_000_000_000_000), Duration: 1_000_000, Service: "api", Failed: true,
	}
	resource := op.Resource{Service: "trainer", Rank: op.Known(1), WorldSize: op.Known(8),
		Attrs: []op.Attr{{Key: "host.name", Value: "n1"}}}
	return []string{
		line(op.AppendHeader(nil, nil)), line(op.AppendHeader(nil, &op.Resource{})),
		line(op.AppendHeader(nil, &op.Resource{WorldSize: op.Known(2)})), line(op.AppendHeader(nil, &resource)),
		line((&op.Batch{Writer: "w-1", Sequence: 7, Entries: 2}).AppendJSON(nil)),
		line(optest.RichEntry().AppendJSON(nil)),
		line((&op.Entry{Operation: "reshape", Kind: op.KindCompute, Duration: 600}).AppendJSON(nil)),
		line((&op.Entry{Operation: "scalar", Kind: op.KindMemory, InputShapes: []op.Shape{}, OutputShape: op.Shape{},
			Collective: &op.Collective{}}).AppendJSON(nil)),
		line(request.AppendJSON(nil)), line((&op.Span{Name: "step"}).AppendJSON(nil)),
		line((&op.Gap{Dropped: 12, Reason: "queue_full"}).AppendJSON(nil)),
		line((&op.Gap{Dropped: 1}).AppendJSON(nil)),
	}
}

func TestRecordsGolden(t *testing.T) {
	golden.Check(t, "testdata/records.jsonl", strings.Join(goldenRecords(), ""))
}

func TestEntryRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := []*op.Entry{optest.RichEntry()}
	for range 5000 {
		all = append(all, optest.RandomEntry(r))
	}
	for _, e := range all {
		line := e.AppendJSON(nil)
		rec, err := entries.DecodeLine(line)
		if err != nil || !json.Valid(line) {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(e, rec.Entry); diff != "" {
			t.Fatalf("%s read back (-want +got):\n%s", line, diff)
		}
		if again := rec.Entry.AppendJSON(nil); string(again) != string(line) {
			t.Fatalf("written again (-want +got):\n%s", cmp.Diff(string(line), string(again)))
		}
		if err := rec.Entry.Validate(); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

func TestMarshalJSON(t *testing.T) {
	want := map[string][]*op.Entry{"slowest": {{Operation: "a", Kind: op.KindCompute, KindRule: op.RuleDefault}}}
	text, err := json.Marshal(want)
	if err != nil || !strings.Contains(string(text), `"slowest":[{"step":null,"operation":"a",`) {
		t.Errorf("JSON is %s, %v", text, err)
	}
	var back map[string][]*op.Entry
	check.OK(t, json.Unmarshal(text, &back))
	check.Equal(t, "read back", want, back)
}

// Values of every type read back. A number of more than 64 bits stays text.
func TestAttrsReadBack(t *testing.T) {
	line := `{"operation":"a","duration_ns":1,"attrs":{"t":"4","i":4,"f":4.0,"e":1E2,"b":false,"n":null,"l":[1, ` +
		`2.0],"m":{"k":{}},` +
		`"y":{"bytesValue":"AAE="},"inf":{"doubleValue":"Infinity"},"like":{"bytesValue":"a","x":1},` +
		`"odd":{"doubleValue":"x"},` +
		`"big":18446744073709551616,"huge":1e999}}`
	want := []op.Attr{
		{Key: "t", Value: "4"}, {Key: "i", Value: "4", Type: op.AttrInt}, {Key: "f", Value: "4", Type: op.AttrFloat},
		{Key: "e", Value: "100", Type: op.AttrFloat}, {Key: "b", Value: "false", Type: op.AttrBool},
		{Key: "n", Value: "null", Type: op.AttrJSON},
		{Key: "l", Value: "[1, 2.0]", Type: op.AttrJSON}, {Key: "m", Value: `{"k":{}}`, Type: op.AttrJSON},
		{Key: "y", Value: "AAE=", Type: op.AttrBytes}, opmodel.FloatAttr("inf", math.Inf(1)),
		{Key: "like", Value: `{"bytesValue":"a","x":1}`, Type: op.AttrJSON},
		{Key: "odd", Value: `{"doubleValue":"x"}`, Type: op.AttrJSON},
		{Key: "big", Value: "18446744073709551616"}, {Key: "huge", Value: "1e999"},
	}
	rec := check.Must(entries.DecodeLine([]byte(line)))(t)
	check.Equal(t, "", want, rec.Entry.Attrs)
	again, err := entries.DecodeLine(rec.Entry.AppendJSON(nil))
	if err != nil || !cmp.Equal(want, again.Entry.Attrs) {
		t.Errorf("read again: %v\n%s", err, cmp.Diff(want, again.Entry.Attrs))
	}
}

func TestSources(t *testing.T) {
	header := func(host string) string {
		return `{"schema":"optrace.entries/v1","resource":{"attrs":{"host.name":"` + host + `"}}}` + "\n"
	}
	batch := func(writer string) string { return `{"batch":{"writer":"` + writer + `","seq":0,"entries":1}}` + "\n" }
	const entry = `{"step":1,"operation":"a","duration_us":1}` + "\n"
	const nothing = `{"schema":"optrace.entries/v1"}` + "\n"
	for _, test := range []struct{ name, lines, want string }{
		{"nothing", entry, ""}, {"a header", header("a") + entry, "a"},
		{"the last of two", header("a") + entry + header("b") + entry, "b"},
		{"behind a batch record", batch("v") + header("a") + entry + batch("w") + header("b") + entry + batch("v") +
			entry, "a"},
		{"in front of a batch record", header("a") + batch("v") + entry + header("b") + batch("w") + entry +
			batch("v") + entry, "a"},
		{"a writer without one", batch("v") + header("a") + entry + batch("w") + entry, ""},
		{"a change within a batch", batch("v") + header("a") + entry + header("b") + entry + batch("w") + entry +
			batch("v") + entry, "b"},
		{"a header without a resource", header("a") + entry + nothing + entry, ""},
		{"white space and other order", `{ "resource" : {"attrs":{"host.name":"a"}}, "schema":"optrace.entries/v1"}` +
			"\n\n" + entry, "a"},
		{"a damaged header", header("a") + `{"schema":"optrace.entries/v1","resource":{"at` + "\n" + entry, "a"},
	} {
		var s entries.Sources
		s.Follow([]byte(test.lines))
		got := ""
		if r := s.Resource(); r != nil {
			got = r.Attrs[0].Value
		}
		check.Equal(t, test.name, test.want, got)
	}
}
