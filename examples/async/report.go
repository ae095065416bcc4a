package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/render/text"
)

// report prints what kept the device waiting, as "optrace report -section devices,idle"
// does, and what follows from it.
func report(ctx context.Context, batch string, out io.Writer) error {
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

// finding says in words what the phase was bound by.
func finding(r *analyze.Report) string {
	l := r.Launches
	if l == nil || len(r.Devices) == 0 {
		return "nothing was launched"
	}
	d := &r.Devices[slices.IndexFunc(r.Devices, func(d analyze.Device) bool { return d.DeviceID == deviceID })]
	waiting, deepest := int64(0), int64(0)
	for i := range l.Streams {
		waiting += l.Streams[i].WaitingNS
		deepest = max(deepest, l.Streams[i].MaxDepth)
	}
	copies := fmt.Sprintf("%v of %v of copies ran beside compute", spent(d.MemoryNS.V-d.ExposedMemoryNS.V), spent(d.MemoryNS.V))
	switch path := l.Path; {
	case 2*path.BoundBy.HostNS > path.DurationNS:
		return fmt.Sprintf("bound by the host: of %v it took %v to launch what came next; %s",
			spent(path.DurationNS), spent(path.BoundBy.HostNS), copies)
	case waiting > d.BusyNS.V:
		return fmt.Sprintf("bound by the queues: operations waited for %v in sum while the device was busy for %v, up to %d at once; %s",
			spent(waiting), spent(d.BusyNS.V), deepest, copies)
	default:
		return fmt.Sprintf("bound by the device: it was busy for %v of %v; %s", spent(d.BusyNS.V), spent(d.SpanNS.V), copies)
	}
}

// spent is a time in nanoseconds, for people.
func spent(ns int64) time.Duration { return time.Duration(ns).Round(time.Microsecond) }
