package op

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// AppendJSON writes the columns in their order, and each that the table can write as the table does.
func TestAppendJSONIsTheTable(t *testing.T) {
	one := Known(1)
	e := &Entry{
		Step: one, Operation: "a", Kind: KindCollective, KindRule: RuleName, Side: SideHost, Path: "p", DeviceID: "d", Stream: one, Rank: one,
		InputShapes: []Shape{{1}}, InputDTypes: []DType{F32}, OutputShape: Shape{1}, DType: F32, Start: one, Duration: 1, Launch: one,
		OutputElements: one, MemoryBytes: one, FLOPs: one, Failed: true, Error: "e", TraceID: TraceID{1}, SpanID: SpanID{1},
		ParentSpanID: SpanID{1}, Root: "r", RootSpanID: SpanID{1}, Service: "s", Scope: "s", Collective: &Collective{Name: "n"},
		AdjustedCount: 1.5, DroppedAttributes: 1, Attrs: []Attr{{Key: "k", Value: "v"}}, Links: []Link{{TraceID: TraceID{1}, SpanID: SpanID{1}}},
		Extra: &Extra{OK: true}, Warn: WarnBadID, LaunchedBy: "aten::mm", LaunchSpanID: SpanID{1},
		StepName: "s", Phase: "p",
	}
	line := e.AppendJSON(nil)
	members := append([]byte(","), line[1:]...)
	var got, want []string
	d := json.NewDecoder(bytes.NewReader(line))
	_, _ = d.Token()
	for d.More() {
		key, _ := d.Token()
		got = append(got, key.(string))
		var v json.RawMessage
		check.OK(t, d.Decode(&v))
	}
	for i := range Columns {
		c := &Columns[i]
		want = append(want, c.Name)
		if member := c.appendJSON(nil, e); !bytes.Contains(members, member) {
			t.Errorf("%s is not in %s", member, line)
		}
	}
	check.Equal(t, "keys: line against table", want, got)
}
