// Package record compares the cost of recording: of exporting finished spans, of whole pipelines, and
// of the ways to record an operation.
package record

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/tensorconv"
)

// Suite returns the comparisons, each over several sets of operations.
func Suite() []measure.Measure {
	return slices.Concat(exportSuite(), pipelineSuite())
}

// The sides of the suites on exporting.
const (
	stdout    = "stdouttrace"
	otlp      = "otlptrace + proto.Marshal"
	entries   = "Exporter, entries"
	otlpProto = "Exporter, OTLP protobuf"
)

// exportSuite compares exports of batches of 512 real SDK spans to a writer that discards them.
func exportSuite() []measure.Measure {
	cases := measure.Over(measure.Suite{Name: "exporting", Unit: "span", Rounds: 31, QuickRounds: 7}, exportSets,
		openExport)
	const limit = "reading the span, from memory and by its interface; finding its attributes in a cache, copying text"
	return []measure.Measure{
		{Name: "export_vs_stdouttrace", Target: 30, Cases: cases(stdout, entries), Limit: limit},
		{Name: "export_vs_otlp", Target: 7, Cases: cases(otlp, entries), Limit: limit},
		{Name: "export_otlp_vs_otlp", Target: 12, Cases: cases(otlp, otlpProto), Limit: limit},
	}
}

const (
	batchSize  = 512 // the number of spans per export of the SDK's batch processor
	minBatches = 8   // the least number of batches in a round
)

func openExport(ctx context.Context, env *measure.Env, s *set) (*measure.Opened, error) {
	ops := s.ops()
	n := minBatches
	if s.steps {
		n = max(n, 2*len(ops)/batchSize) // every operation in two steps
	}
	n = env.Size(n*batchSize, n*batchSize) / batchSize
	batches, err := sdkBatches(ctx, s, ops, n)
	if err != nil {
		return nil, fmt.Errorf("recording spans: %w", err)
	}
	lines, err := stdouttrace.New(stdouttrace.WithWriter(io.Discard))
	entriesExp, err1 := optrace.NewExporter(io.Discard)
	protoExp, err2 := optrace.NewExporter(io.Discard, optrace.WithFormat(optrace.FormatOTLPProto))
	if err := errors.Join(err, err1, err2); err != nil {
		return nil, err
	}
	theirs := newOTLPExporter()
	exporting := func(exp sdktrace.SpanExporter, passes int) measure.Side {
		return func(ctx context.Context) (measure.Sample, error) {
			ctx = context.WithoutCancel(ctx) // without a deadline the exporter itself waits for the writer
			return measure.Timed(int64(passes*len(batches)*batchSize), func() error {
				for i := range passes * len(batches) {
					if err := exp.ExportSpans(ctx, batches[i%len(batches)]); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	passes := max(1, 4*minBatches/n) // make the rounds of fast sides long enough to measure
	return &measure.Opened{
		Sides: map[string]measure.Side{
			stdout: exporting(lines, 1), otlp: exporting(theirs, 1),
			entries: exporting(entriesExp, passes), otlpProto: exporting(protoExp, passes),
		},
		Check: func() error { return sameBytes(ctx, batches) },
		Close: func() error {
			return errors.Join(lines.Shutdown(ctx), entriesExp.Shutdown(ctx), protoExp.Shutdown(ctx),
				theirs.Shutdown(ctx))
		},
	}, nil
}

// sdkBatches returns n batches of operations as the SDK passes them to exporters.
func sdkBatches(ctx context.Context, s *set, ops []optrace.OpSpec, n int) ([][]sdktrace.ReadOnlySpan, error) {
	ended := tracetest.NewSpanRecorder()
	res := resource.NewSchemaless(attribute.String(attrkey.ServiceName, workload.ServiceName), tensorconv.Rank(0))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(ended), sdktrace.WithResource(res))
	preps, err := prepareAll(optrace.NewTracer(tp), ops)
	if err != nil {
		return nil, err
	}
	ctx, request := tp.Tracer("trainer").Start(ctx, "train")
	r := &run{set: s, ops: len(ops), tracer: tp.Tracer("trainer")}
	r.each(ctx, n*batchSize, func(ctx context.Context, i int) {
		_, o := preps[i].Start(ctx)
		o.End()
	})
	request.End()
	spans := slices.DeleteFunc(ended.Ended(), func(s sdktrace.ReadOnlySpan) bool {
		return s.InstrumentationScope().Name != optrace.ScopeName
	})
	return slices.Collect(slices.Chunk(spans, batchSize)), tp.Shutdown(ctx)
}

// marshallingClient does the work of an OTLP client except for sending.
type marshallingClient struct{ last []byte }

func (c *marshallingClient) Start(context.Context) error { return nil }
func (c *marshallingClient) Stop(context.Context) error  { return nil }

func (c *marshallingClient) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	encoded, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	c.last = encoded
	return err
}

// sameBytes returns an error unless our OTLP protobuf of each batch, after four bytes of length,
// equals the bytes of the SDK's exporter.
func sameBytes(ctx context.Context, batches [][]sdktrace.ReadOnlySpan) error {
	client := new(marshallingClient)
	theirs := otlptrace.NewUnstarted(client)
	var written bytes.Buffer
	ours, err := optrace.NewExporter(&written, optrace.WithFormat(optrace.FormatOTLPProto))
	if err != nil {
		return err
	}
	for i, b := range batches {
		written.Reset()
		if err := errors.Join(ours.ExportSpans(ctx, b), theirs.ExportSpans(ctx, b)); err != nil {
			return err
		}
		want := binary.BigEndian.AppendUint32(nil, uint32(len(client.last)))
		if want = append(want, client.last...); !bytes.Equal(written.Bytes(), want) {
			return fmt.Errorf("batch %d: our OTLP protobuf differs from otlptrace's: %d bytes and %d", i, written.Len(),
				len(want))
		}
	}
	return nil
}
