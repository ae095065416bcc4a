package entries

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/op"
)

// ended returns the i-th of a sequence of operations: five repeated ones, on two devices, in steps of three.
func ended(i int) span.Ended {
	start := time.Unix(1_700_000_000, int64(i)*1000)
	context := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{15: 1},
		SpanID: trace.SpanID{7: byte(i + 1)}})
	d := &span.Data{
		Name: "matmul", Context: context, Start: start, End: start.Add(time.Duration(i+1) * time.Microsecond),
		Attrs: []attribute.KeyValue{
			attribute.String(attrkey.Name, "matmul"), attribute.String(attrkey.Device, fmt.Sprint("cuda:", i%2)),
			attribute.Int64Slice(attrkey.OutputShape, []int64{64, int64(i % 5)}),
			attribute.Int64(attrkey.Step, int64(i/3)),
		},
	}
	return span.Ended{Data: d, Context: context, Root: span.Root{Name: "request", ID: op.SpanID{1}}}
}

// A rendered template equals the encoded entry.
func TestTemplates(t *testing.T) {
	// The attributes of one operation have the same memory every time.
	attrs := ended(0).Data.Attrs
	cached := Format.NewEncoder(nil, encoding.DefaultCacheBytes).(*encoder)
	plain := Format.NewEncoder(nil, 0).(*encoder)
	var w traces.WithOps
	a := encoding.NewBatch(0)
	b := encoding.NewBatch(0)
	for i := range 60 {
		e := ended(i)
		step := e.Data.Attrs[3]
		e.Data.Attrs = append(append([]attribute.KeyValue(nil), attrs[:3]...), step)
		switch i % 20 {
		case 7:
			e.Data.Status = sdktrace.Status{Code: codes.Error, Description: "boom"}
		case 3:
			e.Root.Name = `quoted "name"`
		case 5:
			e.Root.Name = "bad\xffname"
		case 11:
			e.Root = span.Root{}
		case 13:
			e.Data.Start = time.Time{}
		case 17:
			e.Data.DroppedAttrs = 3
		case 18:
			e.Data.Links = []sdktrace.Link{{SpanContext: ended(0).Context}}
		case 19:
			e.Data.DroppedLinks = 1
		}
		for _, to := range []struct {
			enc *encoder
			b   *encoding.Batch
		}{{cached, a}, {plain, b}} {
			if out := to.enc.Add(to.b, e, &w); out != encoding.Entry {
				t.Fatalf("operation %d becomes %v", i, out)
			}
		}
	}
	if !bytes.Equal(a.Body(), b.Body()) {
		t.Errorf("with templates other lines are written:\n%s\nwithout:\n%s", a.Body(), b.Body())
	}
	if cached.CacheHits() == 0 || plain.CacheHits() != 0 {
		t.Errorf("%d and %d hits", cached.CacheHits(), plain.CacheHits())
	}
}

func TestJoin(t *testing.T) {
	enc := Format.NewEncoder(nil, 0)
	var w traces.WithOps
	whole := encoding.NewBatch(0)
	joined := encoding.NewBatch(0)
	for i := range 6 {
		e := ended(i)
		if i >= 3 {
			e.Data.Resource = resource.NewSchemaless(attribute.String("service.name", "other"))
		}
		enc.Add(whole, e, &w)
		single := encoding.NewBatch(0)
		enc.Add(single, e, &w)
		Format.Join(joined, &encoding.Record{
			Bytes: single.Body(), Entries: single.Entries, Source: single.First, Resource: single.FirstResource,
		})
	}
	if !bytes.Equal(whole.Body(), joined.Body()) || whole.Entries != joined.Entries || whole.First != joined.First {
		t.Errorf("joined:\n%s\nwant:\n%s", joined.Body(), whole.Body())
	}
}
