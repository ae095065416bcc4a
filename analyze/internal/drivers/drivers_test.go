package drivers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/internal/drivers"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Devices that work at the same time and reduce together have a thread each, if none is recorded. A span with work of
// one of them below it is of its thread.
func TestAThreadOfEachDevice(t *testing.T) {
	const us = 1_000
	for _, test := range []struct {
		name       string
		late       int64 // of the second device's layer, µs
		collective string
		launched   bool
		want       string // the devices of the step, the layers of both devices, their products and collectives
	}{
		{"at once", 0, "all_reduce", false, "- 0 1 0 1 0 1"},
		{"partly at once", 40, "reduce_scatter", false, "- 0 1 0 1 0 1"},
		{"in turn", 100, "all_reduce", false, ""},
		{"with launches", 0, "all_reduce", true, ""},
		{"stages of a pipeline", 0, "send", false, ""},
		{"nothing in common", 0, "", false, ""},
	} {
		f := trace.New()
		id := func(a, b int) op.SpanID { return op.SpanID{byte(a), byte(b)} }
		span := func(name string, of, above op.SpanID) {
			f.Add(op.Record{Span: &op.Span{
				Name: name, TraceID: op.TraceID{1}, SpanID: of, ParentSpanID: above,
				Start: op.Known(int64(1e18)), Duration: 300 * us,
			}})
		}
		span("step", id(1, 0), op.SpanID{})
		span("layer", id(2, 0), id(1, 0))
		span("layer", id(2, 1), id(1, 0))
		for i, name := range []string{"matmul", "matmul", test.collective, test.collective} {
			d := i % 2
			e := op.Entry{
				Operation: name, Kind: op.KindCompute, DeviceID: fmt.Sprint("gpu:", d), TraceID: op.TraceID{1},
				SpanID: id(3+i, d), ParentSpanID: id(2, d), Start: op.Known(int64(1e18) + int64(d)*test.late*us),
				Duration: 100 * us,
			}
			if i >= 2 {
				e.ParentSpanID = id(1, 0)
				e.Start = op.Known(int64(1e18) + 250*us)
				if name != "" {
					e.Kind = op.KindCollective
					e.Collective = &op.Collective{Name: name, Group: "dp"}
				}
			}
			if test.launched {
				e.Launch = e.Start
			}
			f.Add(op.Record{Entry: &e})
		}
		f.Build()
		var got []string
		for _, d := range drivers.Of(f, make([]int32, f.Len())) {
			device := "-"
			if d > 0 {
				device = strings.TrimPrefix(f.Devices.Keys[d-1].DeviceID, "gpu:")
			}
			got = append(got, device)
		}
		check.Equal(t, test.name, test.want, strings.Join(got, " "))
	}
}
