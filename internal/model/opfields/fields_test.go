package opfields

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// keysOf returns the keys of a JSON object in order.
func keysOf(t *testing.T, object []byte) (keys []string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	check.Must(d.Token())(t)
	for d.More() {
		key := check.Must(d.Token())(t)
		keys = append(keys, key.(string))
		var v json.RawMessage
		check.OK(t, d.Decode(&v))
	}
	return keys
}

func namesOf[T any](fields []Field[T]) (names []string) {
	for i := range fields {
		names = append(names, fields[i].Name)
	}
	return names
}

func TestAppendJSONWritesTheTablesInOrder(t *testing.T) {
	one := op.Known(1)
	id := op.SpanID{1}
	e := &op.Entry{
		Step: one, Operation: "a", Kind: op.KindCollective, KindRule: op.RuleName, Side: op.SideHost, Path: "p",
		DeviceID: "d", Stream: one, Rank: one, InputShapes: []op.Shape{{1}}, InputDTypes: []op.DType{op.F32},
		OutputShape: op.Shape{1}, DType: op.F32, Start: one, Duration: 1, Launch: one, OutputElements: one,
		MemoryBytes: one, FLOPs: one, Failed: true, Error: "e", TraceID: op.TraceID{1}, SpanID: id, ParentSpanID: id,
		Root: "r", RootSpanID: id, Service: "s", Scope: "s", AdjustedCount: 1.5, DroppedAttributes: 1,
		Attrs: []op.Attr{{Key: "k", Value: "v"}}, Links: []op.Link{{TraceID: op.TraceID{1}, SpanID: id}},
		Extra: &op.Extra{OK: true}, Warn: op.WarnBadID, LaunchedBy: "aten::mm", LaunchSpanID: id, StepName: "s",
		Phase: "p",
		Collective: &op.Collective{
			Name: "n", Group: "g", GroupSize: one, Sequence: one, PeerRank: one, InElements: one, OutElements: one,
		},
	}
	line := e.AppendJSON(nil)
	check.Equal(t, "keys of an entry", namesOf(Entry), keysOf(t, line))
	_, collective, _ := bytes.Cut(line, []byte(`"collective":`))
	check.Equal(t, "keys of a collective", namesOf(Collective), keysOf(t, collective))
}
