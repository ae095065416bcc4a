// Package devices has what the examples with an asynchronous device share: how they record, and what they say at their end.
package devices

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/profile"
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

// Report prints what kept the devices of a batch waiting, as "optrace report -section
// devices,idle" does, and below it what the batch was bound by.
func Report(ctx context.Context, batch, deviceID string, out io.Writer) error {
	r, err := analyze.Run(context.WithoutCancel(ctx), ingest.Open(batch), analyze.Options{Top: 3})
	if err != nil {
		return err
	}
	shown := []string{text.SectionSummary, text.SectionDevices, text.SectionIdle}
	if err := text.Write(out, r, text.Options{Show: func(s string) bool { return slices.Contains(shown, s) }}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\n%s\n\n", finding(r, deviceID))
	return err
}

// finding says in words what a batch was bound by.
func finding(r *analyze.Report, deviceID string) string {
	i := slices.IndexFunc(r.Devices, func(d profile.Device) bool { return d.DeviceID == deviceID })
	if r.Launches == nil || i < 0 {
		return "nothing was launched"
	}
	d, path := &r.Devices[i], r.Launches.Path
	copies := fmt.Sprintf("%v of %v of copies ran beside kernels", duration(d.MemoryNS.V-d.ExposedMemoryNS.V), duration(d.MemoryNS.V))
	waiting, deepest := int64(0), int64(0) // operations for their start
	for i := range r.Launches.Streams {
		waiting += r.Launches.Streams[i].WaitingNS
		deepest = max(deepest, r.Launches.Streams[i].MaxDepth)
	}
	switch {
	case 2*path.BoundBy.HostNS > path.DurationNS:
		return fmt.Sprintf("bound by the host: of %v it took %v to launch what came next; %s",
			duration(path.DurationNS), duration(path.BoundBy.HostNS), copies)
	case waiting > d.BusyNS.V:
		return fmt.Sprintf("bound by the queues: operations waited for %v in sum while the device was busy for %v, up to %d at once; %s",
			duration(waiting), duration(d.BusyNS.V), deepest, copies)
	}
	return fmt.Sprintf("bound by the device: it was busy for %v of %v; %s", duration(d.BusyNS.V), duration(d.SpanNS.V), copies)
}

// duration is a time in nanoseconds, for people.
func duration(ns int64) time.Duration { return time.Duration(ns).Round(time.Microsecond) }
