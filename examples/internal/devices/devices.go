// Package devices is shared by the examples with an asynchronous device: setup and reports.
package devices

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/examples/internal/demo"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/render/text"
)

// Queue is an [optrace.Queue] of any event type.
type Queue interface {
	Shutdown(ctx context.Context) error
	Stats() optrace.QueueStats
}

// Record sets tracing up, runs an engine, and shuts tracing and the queue returned by run down. It prints the counts of
// operations.
func Record(
	ctx context.Context, service, file string, out io.Writer, run func(context.Context, *optrace.SDK) (Queue, error),
) (err error) {
	if err := demo.NewFile(file); err != nil {
		return err
	}
	sdk, err := optrace.Setup(file, optrace.WithResourceAttributes(semconv.ServiceName(service)))
	if err != nil {
		return err
	}
	lasting := context.WithoutCancel(ctx) // an interrupt ends the engine, not the writing
	defer func() { err = errors.Join(err, sdk.Shutdown(lasting)) }()
	queue, err := run(ctx, sdk)
	if err != nil {
		return err
	}
	// The program waits for the device here only.
	err = queue.Shutdown(lasting)
	n := queue.Stats()
	fmt.Fprintf(out, "%s: %d operations launched, %d recorded, %d dropped, %d lost, %d unplaced\n\n",
		file, n.Launched, n.Recorded, n.Dropped, n.Lost, n.Unplaced)
	return err
}

// Report prints the overview of a file with its launches and idle times, like "optrace report -section
// overview,idle,launches".
func Report(ctx context.Context, batch string, out io.Writer) error {
	r, err := analyze.Run(context.WithoutCancel(ctx), ingest.Open(batch), analyze.Options{Top: 3})
	if err != nil {
		return err
	}
	shown := []string{text.SectionIdle, text.SectionLaunches}
	return text.WriteOverview(out, r, text.Options{Show: func(s string) bool { return slices.Contains(shown, s) }})
}
