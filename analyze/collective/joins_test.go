package collective

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

func TestFlows(t *testing.T) {
	collective := func(device string, number op.Int, start, duration int64) op.Record {
		return op.Record{Entry: &op.Entry{
			Operation: "all_reduce", Kind: op.KindCollective, DeviceID: device, Start: op.Known(start), Duration: duration,
			Collective: &op.Collective{Name: "all_reduce", Sequence: number},
		}}
	}
	forest := trace.New()
	for _, rec := range []op.Record{
		{Span: &op.Span{Name: "request", TraceID: op.TraceID{1}, SpanID: op.SpanID{1}, Start: op.Known(0), Duration: 9}},
		{Span: &op.Span{Name: "step", TraceID: op.TraceID{2}, SpanID: op.SpanID{1}, Start: op.Known(2), Duration: 5, Links: []op.Link{
			{TraceID: op.TraceID{1}, SpanID: op.SpanID{1}}, {TraceID: op.TraceID{9}, SpanID: op.SpanID{9}},
		}}},
		{Entry: &op.Entry{Operation: "matmul", DeviceID: "cuda:0", Start: op.Known(3), Launch: op.Known(2), Duration: 1}},
		collective("cuda:0", op.Known(1), 10, 5), collective("cuda:1", op.Known(1), 12, 3), collective("cuda:0", op.Known(2), 20, 5),
		collective("cuda:0", op.Int{}, 30, 1), collective("cuda:1", op.Int{}, 31, 1),
	} {
		forest.Add(rec)
	}
	var links, launches, collectives []string
	for n := range forest.Nodes() {
		for to := range n.Links() {
			links = append(links, n.Name()+" to "+to.Name())
		}
		if at := n.Launch(); at.Known {
			launches = append(launches, fmt.Sprint(n.Name(), " at ", at.V))
		}
	}
	for parts := range Nodes(forest) {
		text := ""
		for _, n := range parts {
			text += fmt.Sprintf("%s at %d, ", n.Device().DeviceID, n.Start().V)
		}
		collectives = append(collectives, text)
	}
	for _, tc := range []struct {
		name      string
		got, want []string
	}{
		{"links", links, []string{"step to request"}},
		{"launches", launches, []string{"matmul at 2"}},
		{"collectives", collectives, []string{"cuda:0 at 10, cuda:1 at 12, ", "cuda:0 at 30, cuda:1 at 31, "}},
	} {
		check.Equal(t, tc.name, tc.want, tc.got)
	}
	for range Nodes(forest) {
		break
	}
	if (trace.Node{}).Launch().Known {
		t.Error("no node has a launch time")
	}
	for range (trace.Node{}).Links() {
		t.Error("no node has links")
	}
}
