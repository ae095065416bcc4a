// Package devices has what the examples with an asynchronous device share: how they record, and what they say at their end.
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

// Queue is an [optrace.Queue] of the events of any device.
type Queue interface {
	Shutdown(ctx context.Context) error
	Stats() optrace.QueueStats
}

// Record sets tracing up, runs an engine, which returns the queue of its device, and shuts both down. It prints what
// became of the operations.
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
	lasting := context.WithoutCancel(ctx) // an interrupt ends the engine, and what was recorded is written
	defer func() { err = errors.Join(err, sdk.Shutdown(lasting)) }()
	queue, err := run(ctx, sdk)
	if err != nil {
		return err
	}
	// What the device has not got through yet is waited for here, and only here.
	err = queue.Shutdown(lasting)
	n := queue.Stats()
	fmt.Fprintf(out, "%s: %d operations launched, %d recorded, %d dropped, %d lost, %d unplaced\n\n",
		file, n.Launched, n.Recorded, n.Dropped, n.Lost, n.Unplaced)
	return err
}

// Report prints the overview of a batch and how its launches and idle times were, as "optrace report -section
// overview,idle,launches" does.
func Report(ctx context.Context, batch string, out io.Writer) error {
	r, err := analyze.Run(context.WithoutCancel(ctx), ingest.Open(batch), analyze.Options{Top: 3})
	if err != nil {
		return err
	}
	shown := []string{text.SectionIdle, text.SectionLaunches}
	return text.WriteOverview(out, r, text.Options{Show: func(s string) bool { return slices.Contains(shown, s) }})
}
