package entries_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/golden"
	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// goldenRecords are records of every kind, each as its line.
func goldenRecords() []string {
	line := func(b []byte) string { return string(b) + "\n" }
	request := op.Span{
		Name: "POST /predict", TraceID: optest.TraceID, SpanID: optest.ParentID, ParentSpanID: optest.SpanID, RemoteParent: true,
		Start: op.Known(1_700_000_000_000_000_000), Duration: 1_000_000, Service: "api", Failed: true,
	}
	resource := op.Resource{Service: "trainer", Rank: op.Known(1), WorldSize: op.Known(8), Attrs: []op.Attr{{Key: "host.name", Value: "n1"}}}
	return []string{
		line(op.AppendHeader(nil, nil)),
		line(op.AppendHeader(nil, &op.Resource{})),
		line(op.AppendHeader(nil, &op.Resource{WorldSize: op.Known(2)})),
		line(op.AppendHeader(nil, &resource)),
		line((&op.Batch{Writer: "w-1", Sequence: 7, Entries: 2}).AppendJSON(nil)),
		line(optest.RichEntry().AppendJSON(nil)),
		line((&op.Entry{Operation: "reshape", Kind: op.KindCompute, Duration: 600}).AppendJSON(nil)),
		line((&op.Entry{Operation: "scalar", Kind: op.KindMemory, InputShapes: []op.Shape{}, OutputShape: op.Shape{},
			Collective: &op.Collective{}}).AppendJSON(nil)),
		line(request.AppendJSON(nil)),
		line((&op.Span{Name: "step"}).AppendJSON(nil)),
		line((&op.Gap{Dropped: 12, Reason: "queue_full"}).AppendJSON(nil)),
		line((&op.Gap{Dropped: 1}).AppendJSON(nil)),
	}
}

func TestRecordsGolden(t *testing.T) {
	golden.Check(t, "testdata/records.jsonl", strings.Join(goldenRecords(), ""))
}

func TestGoldenRecordsReadBack(t *testing.T) {
	for _, line := range goldenRecords() {
		rec, err := entries.DecodeLine([]byte(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var again []byte
		switch {
		case rec.Entry != nil:
			again = rec.Entry.AppendJSON(nil)
		case rec.Span != nil:
			again = rec.Span.AppendJSON(nil)
		case rec.Gap != nil:
			again = rec.Gap.AppendJSON(nil)
		case rec.Batch != nil:
			again = rec.Batch.AppendJSON(nil)
		default:
			again = op.AppendHeader(nil, rec.Resource)
		}
		check.Equal(t, "read and written again", line, string(again)+"\n")
	}
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
	text, err := json.Marshal(map[string]any{"slowest": []*op.Entry{{Operation: "a", Kind: op.KindCompute}}})
	if err != nil || !strings.Contains(string(text), `"slowest":[{"step":null,"operation":"a",`) {
		t.Errorf("JSON is %s, %v", text, err)
	}
}
