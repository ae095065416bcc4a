package optrace_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/check"
)

// Nil pointers and zero values have no effect: every exported method is called with zero arguments.
func TestZeroValuesRecordNothing(t *testing.T) {
	for _, v := range []any{
		(*optrace.Tracer)(nil), new(optrace.Tracer), (*optrace.Prepared)(nil), new(optrace.Prepared),
		(*optrace.Recorder)(nil), new(optrace.Recorder), (*optrace.SDK)(nil), new(optrace.SDK),
		(*optrace.Processor)(nil), new(optrace.Processor),
		(*optrace.Exporter)(nil), new(optrace.Exporter), (*optrace.Queue[*mark])(nil), new(optrace.Queue[*mark]),
		//nolint:staticcheck // a nil context
		optrace.Op{}, new(optrace.SDK).Tracer(), new(optrace.SDK).Processor(), new(optrace.Processor).Recorder(nil),
	} {
		of := reflect.ValueOf(v)
		for i := range of.NumMethod() {
			name := of.Type().Method(i).Name
			t.Run(of.Type().String()+"."+name, func(t *testing.T) {
				method := of.Method(i)
				var args []reflect.Value
				for in := range method.Type().Ins() {
					args = append(args, reflect.Zero(in))
				}
				call := method.Call
				if method.Type().IsVariadic() {
					call = method.CallSlice
				}
				for _, result := range call(args) {
					err, failed := reflect.TypeAssert[error](result)
					if failed && name != "Prepare" && name != "Record" {
						t.Errorf("error %v", err)
					}
				}
			})
		}
	}
	var tr *optrace.Tracer
	prepared := check.Must(tr.Prepare(matmulSpec()))(t)
	now := optrace.Times{Start: 1, End: 2}
	for _, r := range []*optrace.Recorder{nil, new(optrace.Recorder), tr.Recorder(t.Context())} {
		r.Step(1)
		r.Begin("a", "b").In(1).Out(1).DType("f32").Err(errors.New("x")).Attrs(attribute.Int("k", 1)).End()
		r.BeginPrepared(prepared)
		r.Record("a", "b", now)
		r.RecordPrepared(prepared, now).Attrs(attribute.Int("k", 1))
		r.Finish()
	}
	_, o := prepared.Start(t.Context())
	o.End()
	for _, to := range []optrace.Recording{tr, (*optrace.Processor)(nil), new(optrace.Processor)} {
		q := newQueue(t, to)
		q.Launched(q.Begin(t.Context(), prepared), passedAt(1), passedAt(2))
		q.Poll()
		check.Equal(t, fmt.Sprintf("%T", to), optrace.QueueStats{Launched: 1, Skipped: 1}, q.Stats())
		shutdown(t, q)
	}
}
