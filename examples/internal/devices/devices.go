// Package devices holds what the examples with an asynchronous device say at their end.
package devices

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/launch"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/render/text"
)

// Report prints what kept the devices of a batch waiting, as "optrace report -section
// devices,idle" does, and below it what finding says of the report.
func Report(ctx context.Context, batch string, out io.Writer, finding func(*analyze.Report) string) error {
	r, err := analyze.Run(ctx, ingest.Open(batch), analyze.Options{Top: 3})
	if err != nil {
		return err
	}
	shown := []string{text.SectionSummary, text.SectionDevices, text.SectionIdle}
	if err := text.Write(out, r, text.Options{Show: func(s string) bool { return slices.Contains(shown, s) }}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\n%s\n\n", finding(r))
	return err
}

// Find returns the row of a device, or nil if nothing was launched on it.
func Find(r *analyze.Report, deviceID string) *profile.Device {
	i := slices.IndexFunc(r.Devices, func(d profile.Device) bool { return d.DeviceID == deviceID })
	if r.Launches == nil || i < 0 {
		return nil
	}
	return &r.Devices[i]
}

// Waiting returns how long launched operations waited for their start, in nanoseconds in
// sum, and how many of a stream waited at once at most.
func Waiting(l *launch.Launches) (sum, deepest int64) {
	for i := range l.Streams {
		sum += l.Streams[i].WaitingNS
		deepest = max(deepest, l.Streams[i].MaxDepth)
	}
	return sum, deepest
}

// Copies says how much of the time of a device's copies was beside computation.
func Copies(d *profile.Device) string {
	return fmt.Sprintf("%v of %v of copies ran beside kernels", Time(d.MemoryNS.V-d.ExposedMemoryNS.V), Time(d.MemoryNS.V))
}

// Time is a time in nanoseconds, for people.
func Time(ns int64) time.Duration { return time.Duration(ns).Round(time.Microsecond) }
