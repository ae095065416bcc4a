package doctor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/doctor"
	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/tensorconv"
)

// recordAll is the advised program: it records everything.
func recordAll(t *testing.T, exp *optrace.Exporter) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		check.OK(t, err)
	}
	proc, err := optrace.NewProcessor(exp) // records the spans above operations with them
	must(err)
	res := resource.NewSchemaless(semconv.ServiceName("trainer"), tensorconv.Rank(0), tensorconv.WorldSize(8))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc), sdktrace.WithResource(res))
	tr := optrace.NewTracer(tp)
	ctx, waiting := tp.Tracer("engine").Start(t.Context(), "request")
	request := waiting.SpanContext()
	proc.KeepTrace(ctx) // in a request that ends long before its operations are recorded

	func() {
		ctx = optrace.ContextWithStep(ctx, 12)
		ctx, step := tp.Tracer("engine").Start(ctx, "train_step") // or the request's ctx, as it is
		defer step.End()                                          // a span is recorded when it ends
		launched := time.Now().UnixNano()
		start, end := launched, launched+1000
		launch := launched - 1000
		{
			ctx, mm := tr.Start(ctx, "matmul", "cuda:0") // and mm.End() when it is done
			_ = ctx
			mm.Device("cuda:0") // where it is known only after the start
			mm.In(64, 784).In(784, 256)
			mm.Out(64, 256)
			mm.DType(op.F32)
			mm.Attrs(tensorconv.MemorySize(65536))
			mm.FLOPs(2 * 64 * 784 * 256)
			mm.Stream(7)
			mm.Attrs(tensorconv.LaunchTime(launched)) // in Unix ns
			mm.Span().AddLink(trace.Link{SpanContext: request, Attributes: []attribute.KeyValue{tensorconv.LinkWeight(128)}})
			mm.End()
		}
		{
			ctx, mm := tr.Start(ctx, "matmul", "cuda:0") // below the span of ctx
			mm.In(64, 784).In(784, 256).Out(64, 256).DType(op.F32).Stream(7).Attrs(tensorconv.LaunchTime(launched)).End()
			_, ar := tr.Start(ctx, "all_reduce", "cuda:0")
			ar.Attrs(tensorconv.CollectiveName("all_reduce"), tensorconv.CollectiveGroupName("data_parallel"))
			ar.Attrs(tensorconv.CollectiveSequence(42))
			ar.Out(64).DType(op.F32).Stream(8).Attrs(tensorconv.LaunchTime(launched)).End()
		}
		spec := optrace.OpSpec{
			Name: "relu", Device: "cuda:0", Stream: op.Known(7), Inputs: []op.Shape{{64}}, Output: op.Shape{64},
			DType: op.F32, Attrs: []attribute.KeyValue{tensorconv.LaunchTime(launch)},
		}
		prep, err := tr.Prepare(spec)
		must(err)
		prep.Record(ctx, optrace.Times{Start: start, End: end})                 // or afterwards, in Unix ns
		prep.Record(ctx, optrace.Times{Start: start, End: end, Launch: launch}) // in Unix ns
	}()
	waiting.End()
	must(tp.Shutdown(context.WithoutCancel(ctx)))
}

// Each advised line of Go is a line of a compiled program, and its recording passes all checks.
func TestAdvisedGoRecordsEverything(t *testing.T) {
	text := check.Must(os.ReadFile("advice_test.go"))(t)
	lines := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		lines[squeeze(line)] = true
	}
	var ops bytes.Buffer
	exp := check.Must(optrace.NewExporter(&ops))(t)
	recordAll(t, exp)
	r := check.Must(doctor.Run(t.Context(), analyze.Records(entries.NewReader(&ops, "ops").Records())))(t)
	for _, f := range r.Findings {
		if f.Count == 0 || f.Missing > 0 {
			t.Errorf("%s: %d of %d %s lack it: %v", f.Name, f.Missing, f.Count, f.Of, f.Operations)
		}
		if len(f.Go) == 0 || len(f.Attributes) == 0 || f.Effect == "" || len(f.Figures) == 0 {
			t.Errorf("%s: no advice", f.Name)
		}
		for _, line := range f.Go {
			if !lines[squeeze(line)] {
				t.Errorf("%s: the program does not have the line %s", f.Name, line)
			}
		}
	}
}

// squeeze returns a line without white space: gofmt aligns comments.
func squeeze(line string) string { return strings.Join(strings.Fields(line), " ") }

// The advised attributes together make a span without a missing property.
func TestAdvisedAttributesAreComplete(t *testing.T) {
	span := pair{"name": "all_reduce", "kind": 1}
	above := pair{
		"name": "train_step", "kind": 1,
		"startTimeUnixNano": "1772366400000000000", "endTimeUnixNano": "1772366400000800000",
	}
	link := pair{}
	attributes := map[string][]pair{
		"span attribute": {{"key": attrkey.Name, "value": pair{"stringValue": "all_reduce"}}},
	}
	for _, f := range doctor.New().Report(analyze.Envelope{}).Findings {
		for _, a := range f.Attributes {
			switch name, of, isLink := strings.Cut(a.Key, "links[]."); {
			case a.Where != "span field":
				value := otlpValue(reflect.ValueOf(a.Example))
				attributes[a.Where] = append(attributes[a.Where], pair{"key": a.Key, "value": value})
			case isLink:
				link[of] = a.Example
			default:
				span[name] = a.Example
			}
		}
	}
	above["traceId"], above["spanId"] = span["traceId"], span["parentSpanId"]
	link["attributes"] = attributes["link attribute"]
	span["attributes"], span["links"] = attributes["span attribute"], []pair{link}
	compute := maps.Clone(span)
	compute["spanId"] = "00f067aa0ba902b8"
	compute["attributes"] = append([]pair{{"key": attrkey.Kind, "value": pair{"stringValue": "compute"}}},
		slices.DeleteFunc(slices.Clone(attributes["span attribute"]), func(a pair) bool {
			return strings.HasPrefix(a["key"].(string), "tensor.collective.")
		})...)
	text := check.Must(json.Marshal(pair{"resourceSpans": []pair{{
		"resource":   pair{"attributes": attributes["resource attribute"]},
		"scopeSpans": []pair{{"spans": []pair{span, compute, above}}},
	}}}))(t)
	r := check.Must(doctor.Run(t.Context(), analyze.Records(otlp.JSONRecords(bytes.NewReader(text), "ops", nil))))(t)
	if r.Input.Malformed > 0 || len(r.Input.Warnings) > 0 {
		t.Errorf("the spans have faults: %v %v", r.Input.Problems, r.Input.Warnings)
	}
	for _, f := range r.Findings {
		if f.Count == 0 || f.Missing > 0 {
			t.Errorf("%s: %d of %d %s lack it", f.Name, f.Missing, f.Count, f.Of)
		}
	}
}

type pair = map[string]any

// otlpValue returns a text, an integer or a list in OTLP's JSON form.
func otlpValue(v reflect.Value) pair {
	switch v.Kind() {
	case reflect.String:
		return pair{"stringValue": v.String()}
	case reflect.Int64:
		return pair{"intValue": v.Int()}
	}
	var values []pair
	for i := range v.Len() {
		values = append(values, otlpValue(v.Index(i)))
	}
	return pair{"arrayValue": pair{"values": values}}
}
