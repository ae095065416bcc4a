package optrace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/jaegertest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/tensorconv"
)

// A forwarder prunes operations of a Tracer and of a Recorder alike, and forwards a share of them.
func TestForwardThreshold(t *testing.T) {
	const ops = 100
	for ratio, names := range map[float64][]string{0: {"failed", "request"},
		1: append(slices.Repeat([]string{"relu"}, ops), "failed", "request")} {
		for _, recorder := range []bool{false, true} {
			mem := &spantest.Exporter{}
			proc := newForwarder(t, mem, optrace.WithForwardThreshold(time.Second), optrace.WithForwardSampling(ratio))
			tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
			ctx, request := tp.Tracer("app").Start(t.Context(), "request")
			rec := proc.Recorder(ctx)
			tr := optrace.NewTracer(tp)
			record := func(name string, err error) {
				if recorder {
					rec.Begin(name, "cuda:0").Err(err).End()
					return
				}
				_, o := tr.Start(ctx, name, "cuda:0")
				o.Err(err).End()
			}
			for range ops {
				record("relu", nil)
			}
			record("failed", errors.New("boom"))
			rec.Finish()
			request.End()
			shutdown(t, proc)
			check.Equal(t, fmt.Sprintf("ratio %v: forwarded", ratio), names, mem.Names())
			count := attribute.Value{}
			for _, e := range mem.Stubs()[len(names)-1].Events {
				set := attribute.NewSet(e.Attributes...)
				count, _ = set.Value(attrkey.PrunedCount)
			}
			if st := proc.Stats(); st.Recorded != uint64(len(names)) || st.Skipped != uint64(ops+2-len(names)) ||
				count.AsInt64() != int64(st.Skipped) {
				t.Errorf("ratio %v: %d operations are summed up, stats are %+v", ratio, count.AsInt64(), st)
			}
		}
	}
}

// unsafeAttributes are invalid for tracing backends.
func unsafeAttributes() []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.Float64("nan", math.NaN()),
		attribute.Float64("inf", math.Inf(1)),
		attribute.Float64Slice("list", []float64{1, math.Inf(-1)}),
		attribute.Slice("nested", attribute.StringValue("x"), attribute.SliceValue(attribute.Float64Value(math.NaN()))),
		attribute.Map("map", attribute.Float64("deep", math.Inf(1))),
		attribute.Float64(attrkey.PrunedDuration, math.NaN()),
	}
}

// harmless are valid attributes.
func harmless() []attribute.KeyValue {
	return []attribute.KeyValue{
		tensorconv.OpName("matmul"), tensorconv.OpFLOPCount(math.MaxInt64), attribute.Int64("min", math.MinInt64),
		attribute.Float64("largest", math.MaxFloat64), attribute.Float64Slice("floats", []float64{0.5, -0.5}),
		tensorconv.InputShapes([]int64{64, 784}, []int64{784, 256}),
	}
}

// recordHostile makes a request with one operation. Both have 6 invalid attributes; the operation also has 2 links, and
// an event with 6 more.
func recordHostile(tp *sdktrace.TracerProvider) {
	ctx, request := tp.Tracer("app").Start(context.Background(), "request", trace.WithAttributes(unsafeAttributes()...))
	request.SetAttributes(attribute.String("kept", "yes"))
	opCtx, o := optrace.NewTracer(tp).Start(ctx, "matmul", "cuda:0")
	o.Attrs(unsafeAttributes()...).Attrs(harmless()...)
	span := o.Span()
	span.AddLink(trace.Link{SpanContext: trace.SpanContextFromContext(ctx)})   // its parent
	span.AddLink(trace.Link{SpanContext: trace.SpanContextFromContext(opCtx)}) // itself
	span.AddLink(trace.Link{
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}),
		Attributes:  append(unsafeAttributes(), attribute.String("kept", "yes")),
	})
	span.AddEvent("exception", trace.WithAttributes(append(unsafeAttributes(), attribute.String("kept", "yes"))...))
	o.End()
	request.End()
}

func hostileProvider(p sdktrace.SpanProcessor) *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p),
		sdktrace.WithResource(resource.NewSchemaless(append(unsafeAttributes(),
			attribute.String("service.name", "api"))...)))
}

// A forwarder removes values invalid for Jaeger from operations and leaves other spans unchanged.
func TestForwardedSpansAreSafe(t *testing.T) {
	mem := &spantest.Exporter{}
	tp := hostileProvider(newForwarder(t, mem))
	recordHostile(tp)
	shutdown(t, tp)
	if len(mem.Stubs()) != 2 {
		t.Fatalf("%d spans", len(mem.Stubs()))
	}
	matmul := mem.Stubs()[0]
	request := mem.Stubs()[1]
	n := len(unsafeAttributes()) + 1
	if len(request.Attributes) != n || request.DroppedAttributes != 0 || request.Resource.Len() != n {
		t.Errorf("the request was changed: %+v", request)
	}
	kept := []attribute.KeyValue{attribute.String("kept", "yes")}
	if matmul.DroppedAttributes != 6 || matmul.Events[0].DroppedAttributeCount != 6 || matmul.DroppedLinks != 2 ||
		len(matmul.Links) != 1 {
		t.Errorf("dropped %d attributes, %d of the event, %d links; %d links left",
			matmul.DroppedAttributes, matmul.Events[0].DroppedAttributeCount, matmul.DroppedLinks, len(matmul.Links))
	}
	for what, attrs := range map[string]struct{ want, got []attribute.KeyValue }{
		"operation": {append(harmless(), tensorconv.DeviceID("cuda:0")), matmul.Attributes},
		"event":     {kept, matmul.Events[0].Attributes},
		"link":      {kept, matmul.Links[0].Attributes},
		"resource":  {[]attribute.KeyValue{attribute.String("service.name", "api")}, matmul.Resource.Attributes()},
	} {
		if want, got := attribute.NewSet(attrs.want...), attribute.NewSet(attrs.got...); !got.Equals(&want) {
			t.Errorf("attributes of the %s are %v, want %v", what, attrs.got, attrs.want)
		}
	}
	id := request.SpanContext.SpanID()
	if matmul.Parent.SpanID() != id || matmul.Links[0].SpanContext.SpanID() != (trace.SpanID{1}) {
		t.Errorf("the parent is %v, want %v; link %+v", matmul.Parent.SpanID(), id, matmul.Links[0])
	}
}

// OTLP files for Jaeger have valid values only.
func TestOTLPFilesAreSafe(t *testing.T) {
	unsafe := map[optrace.Format][]string{
		optrace.FormatOTLPJSON: {"NaN", "Infinity", `"nan"`, `"list"`, `"nested"`, `"map"`},
		// The last bytes of the numbers, the lowest first.
		optrace.FormatOTLPProto: {"\x00\x00\x00\x00\x00\xf8\x7f", "\x00\x00\x00\x00\x00\xf0\x7f",
			"\x00\x00\x00\x00\x00\xf0\xff"},
	}
	for format, bad := range unsafe {
		t.Run(format.String(), func(t *testing.T) {
			var out bytes.Buffer
			exp := newExporter(t, &out, optrace.WithFormat(format))
			proc := newProcessor(t, exp)
			tp := hostileProvider(proc)
			recordHostile(tp)
			own := spantest.Operation(7) // its parent, which the SDK would not add
			own.Parent = own.SpanContext
			export(t, exp, tracetest.SpanStubs{own}.Snapshots()...)
			shutdown(t, tp)
			for _, text := range bad {
				if bytes.Contains(out.Bytes(), []byte(text)) {
					t.Errorf("%q is in the file", text)
				}
			}
			check.Equal(t, "a harmless attribute is there: times", 1, bytes.Count(out.Bytes(), []byte("largest")))
			if format == optrace.FormatOTLPJSON {
				id := own.SpanContext.SpanID().String()
				if bytes.Contains(out.Bytes(), []byte(`"parentSpanId":"`+id)) ||
					!bytes.Contains(out.Bytes(), []byte(`"spanId":"`+id)) {
					t.Errorf("a span is its own parent:\n%s", out.String())
				}
			}
		})
	}
}

// Jaeger returns the recorded hostile operations, in both versions of its API.
func TestRealJaegerTakesHostileSpans(t *testing.T) {
	s := jaegertest.Start(t)
	var out bytes.Buffer
	exp := newExporter(t, &out, optrace.WithFormat(optrace.FormatOTLPJSON))
	proc := newProcessor(t, exp)
	tp := hostileProvider(proc)
	recordHostile(tp)
	shutdown(t, tp)
	for line := range bytes.Lines(out.Bytes()) {
		s.Send(t, line)
	}

	target := check.Must(url.Parse(s.Query))(t)
	proxy := httputil.NewSingleHostReverseProxy(target)
	withoutV3 := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v3/") {
			r.URL.Path = "/"
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(withoutV3.Close)
	for version, address := range map[string]string{"v3": s.Query, "v1": withoutV3.URL} {
		client := check.Must(jaeger.NewClient(address, jaeger.ClientOptions{}))(t)
		now := time.Now()
		found := 0
		for tr, err := range client.Search(t.Context(),
			jaeger.Query{Service: "api", Start: now.Add(-time.Hour), End: now, Limit: 10}) {
			if err != nil {
				t.Fatalf("%s: %v", version, err)
			}
			found++
			if len(tr.Entries) != 1 || len(tr.Spans) != 1 {
				t.Fatalf("%s: trace %+v", version, tr)
			}
			e := tr.Entries[0]
			if e.FLOPs.V != 1<<63-1 || len(e.InputShapes) != 2 || e.ParentSpanID != tr.Spans[0].SpanID {
				t.Errorf("%s: entry %+v", version, e)
			}
		}
		if found != 1 || client.API() != version {
			t.Errorf("%s: %d traces on api %s", version, found, client.API())
		}
	}
}
