package export

import (
	"context"
	"errors"
	"fmt"
	"io"

	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/bench/measure"
)

// The sides of the suites.
const (
	stdout    = "stdouttrace"
	otlp      = "otlptrace + proto.Marshal"
	entries   = "Exporter, entries"
	otlpProto = "Exporter, OTLP protobuf"
)

// Suite returns what is compared: exports of batches of 512 real SDK spans, of
// the operations of a graph, to a writer that takes everything.
func Suite() []measure.Measure {
	graph := &measure.Suite{Name: "exporting", Unit: "span", Rounds: 31, QuickRounds: 21, Open: opener(false, numBatches)}
	fresh := &measure.Suite{Name: "exporting, shapes that never repeat", Unit: "span", Rounds: 31, Open: opener(true, numBatches)}
	perSpan := &measure.AllocTarget{Per: 1, PerName: "span"}
	perBatch := &measure.AllocTarget{Per: batchSize, PerName: "batch", Max: 2}
	return []measure.Measure{
		{Name: "export_vs_stdouttrace", Target: 30, Cases: measure.Compare(graph, stdout, entries), Allocs: perSpan,
			What: "entries JSONL, against the SDK's exporter of lines"},
		{Name: "export_vs_otlp", Target: 7, Cases: measure.Compare(graph, otlp, entries),
			What: "entries JSONL, against OTLP protobuf by the SDK"},
		{Name: "export_otlp_vs_otlp", Target: 15, Cases: measure.Compare(graph, otlp, otlpProto), Allocs: perBatch,
			What: "OTLP protobuf, the same bytes"},
		{Name: "export_new_shapes_vs_otlp", Cases: measure.Compare(fresh, otlp, entries), LongOnly: true,
			What: "entries JSONL, every span with shapes of its own"},
		{Name: "export_otlp_new_shapes_vs_otlp", Cases: measure.Compare(fresh, otlp, otlpProto), LongOnly: true,
			What: "OTLP protobuf, every span with shapes of its own"},
	}
}

// batchSize is how many spans the SDK's batch processor exports at a time.
const batchSize = 512

// numBatches is how many batches take turns: two runs of the graph and a bit.
const numBatches = 8

func opener(newShapes bool, numBatches int) func(context.Context, *measure.Env, measure.Want) (*measure.Opened, error) {
	return func(ctx context.Context, _ *measure.Env, _ measure.Want) (*measure.Opened, error) {
		batches, err := sdkBatches(ctx, numBatches, newShapes)
		if err != nil {
			return nil, fmt.Errorf("recording spans: %w", err)
		}
		lines, err := stdouttrace.New(stdouttrace.WithWriter(io.Discard))
		if err != nil {
			return nil, err
		}
		entriesExp, err := optrace.NewExporter(io.Discard)
		if err != nil {
			return nil, err
		}
		protoExp, err := optrace.NewExporter(io.Discard, optrace.WithFormat(optrace.FormatOTLPProto))
		if err != nil {
			return nil, err
		}
		theirs, _, err := newOTLP(ctx)
		if err != nil {
			return nil, err
		}
		// Ours are fast: several passes make a round long enough to time.
		const passes = 4
		return &measure.Opened{
			Sides: map[string]measure.Side{
				stdout:    exporting(lines, batches, 1),
				otlp:      exporting(theirs, batches, 1),
				entries:   exporting(entriesExp, batches, passes),
				otlpProto: exporting(protoExp, batches, passes),
			},
			Check: func() error { return sameBytes(ctx, batches) },
			Close: func() error {
				return errors.Join(lines.Shutdown(ctx), entriesExp.Shutdown(ctx), protoExp.Shutdown(ctx), theirs.Shutdown(ctx))
			},
		}, nil
	}
}

// exporting is a side that exports all batches a number of times.
func exporting(exp sdktrace.SpanExporter, batches [][]sdktrace.ReadOnlySpan, passes int) measure.Side {
	n := int64(passes * len(batches) * batchSize)
	return func(ctx context.Context) (measure.Sample, error) {
		ctx = context.WithoutCancel(ctx) // whoever cannot give up waits for the writer itself
		return measure.Timed(n, func() error {
			for range passes {
				for _, b := range batches {
					if err := exp.ExportSpans(ctx, b); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
}
