package clickhouse

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// A record is the same after it was a row.
func TestRowKeepsRecords(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	shape := func() op.Shape {
		return []op.Shape{nil, {}, {0}, {2, -1}, {r.Int64N(5), r.Int64N(1 << 40)}}[r.IntN(5)]
	}
	some := func() op.Int { return []op.Int{{}, op.Known(0), op.Known(r.Int64())}[r.IntN(3)] }
	text := func() string { return []string{"", "a", "é\x00'\\", "{}"}[r.IntN(4)] }
	flip := func() bool { return r.IntN(2) == 0 }
	for range 2000 {
		e := &op.Entry{
			Operation: "op" + text(), Step: some(), Stream: some(), Rank: some(), Start: some(), Launch: some(), OutputElements: some(),
			MemoryBytes: some(), FLOPs: some(), Duration: r.Int64(), DType: op.DType(text()), Path: text(), Root: text(), Service: text(),
			Host: text(), Scope: text(), DeviceID: text(), OutputShape: shape(), Kind: op.Kind(r.IntN(6)), KindRule: op.KindRule(r.IntN(4)),
			Warn: op.Warning(r.IntN(1 << 16)), AdjustedCount: float64(r.IntN(3)), DroppedAttributes: r.Int64N(3),
		}
		e.EmptyDevice = e.DeviceID == "" && flip()
		if flip() {
			e.InputShapes, e.InputDTypes = []op.Shape{}, []op.DType{op.F32, ""}
			for range r.IntN(4) {
				e.InputShapes = append(e.InputShapes, shape())
			}
		}
		if flip() {
			e.TraceID, e.SpanID, e.ParentSpanID, e.RootSpanID = op.TraceID{1}, op.SpanID{2}, op.SpanID{0, 3}, op.SpanID{4}
			e.Links = []op.Link{
				{TraceID: op.TraceID{9}, SpanID: op.SpanID{8}, Weight: some(), Attention: some()},
				{TraceID: op.TraceID{9}, SpanID: op.SpanID{7}, Extra: &op.LinkExtra{TraceState: "a=b"}},
			}
		}
		if flip() {
			e.Side, e.Failed, e.Error = op.SideHost, true, text()
			e.Collective = &op.Collective{Name: text(), Group: text(), GroupSize: some(), Sequence: some(), OutElements: some()}
			e.Attrs = []op.Attr{{Key: "a", Value: "1", Type: op.AttrInt}, {Key: "b", Value: text()}}
			e.Extra = &op.Extra{TraceState: "x=1", Events: []op.Event{{Name: "e", Time: op.Known(5)}}}
		}
		for _, rec := range []op.Record{
			{Entry: e},
			{Span: &op.Span{
				Name: text(), TraceID: e.TraceID, SpanID: e.SpanID, ParentSpanID: e.ParentSpanID, RemoteParent: flip(), Start: some(),
				Duration: r.Int64(), Service: text(), Failed: flip(), Attrs: e.Attrs, Links: e.Links, Extra: e.Extra,
			}},
			{Resource: &op.Resource{Service: text(), Rank: some(), WorldSize: some(), Attrs: e.Attrs}},
			{Gap: &op.Gap{Dropped: r.Int64(), Reason: text()}},
			{Batch: &op.Batch{Writer: text(), Sequence: r.Int64(), Entries: r.Int64()}},
		} {
			var own row
			if !own.set(rec) {
				t.Fatalf("%+v has no row", rec)
			}
			got := check.Must(own.rec())(t)
			if diff := cmp.Diff(rec, got); diff != "" {
				t.Fatal(diff)
			}
		}
	}
}

// A row that no record makes is an error.
func TestRowsAreChecked(t *testing.T) {
	for _, values := range []map[string]any{
		{"record": "other"}, {"record": recordEntry, "kind": "other"}, {"record": recordEntry, "trace_id": "xyz"},
		{"record": recordSpan, "span_id": "1"},
		{
			"record": recordSpan, "link_trace_ids": []string{"x"}, "link_span_ids": []string{""}, "link_weights": []int64{0},
			"link_weighted": []uint8{0},
		},
	} {
		var r row
		list := columns()
		for i, to := range r.places(nil, list) {
			if v, ok := values[list[i].name]; ok {
				reflect.ValueOf(to).Elem().Set(reflect.ValueOf(v))
			}
		}
		err := r.scanned()
		if err == nil {
			_, err = r.rec()
		}
		check.Says(t, fmt.Sprint(values), "", err)
	}
}
