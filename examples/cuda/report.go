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
// does, and the overlap of copies and kernels.
func report(ctx context.Context, batch string, out io.Writer) error {
	r, err := analyze.Run(ctx, ingest.Open(batch), analyze.Options{Top: 3})
	if err != nil {
		return err
	}
	shown := []string{text.SectionSummary, text.SectionDevices, text.SectionIdle}
	if err := text.Write(out, r, text.Options{Show: func(s string) bool { return slices.Contains(shown, s) }}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\n%s\n", finding(r))
	return err
}

// finding says in words how copies overlapped and operations waited.
func finding(r *analyze.Report) string {
	i := slices.IndexFunc(r.Devices, func(d analyze.Device) bool { return d.DeviceID == deviceID })
	if r.Launches == nil || i < 0 {
		return "nothing was launched"
	}
	d, l := &r.Devices[i], r.Launches
	waiting, deepest := int64(0), int64(0)
	for i := range l.Streams {
		waiting += l.Streams[i].WaitingNS
		deepest = max(deepest, l.Streams[i].MaxDepth)
	}
	return fmt.Sprintf("%v of %v of copies ran beside kernels; %d launches took the host %v, and waited for %v in sum, up to %d at once",
		spent(d.MemoryNS.V-d.ExposedMemoryNS.V), spent(d.MemoryNS.V), l.Count, spent(l.EnqueueNS), spent(waiting), deepest)
}

// spent is a time in nanoseconds, for people.
func spent(ns int64) time.Duration { return time.Duration(ns).Round(time.Microsecond) }
