package csv

import (
	"io"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/op"
)

// statColumns are the columns of a group's statistics, named as in the
// report's JSON form.
var statColumns = []string{
	"kind", "side", "count", "sum_ns", "mean_ns", "min_ns", "max_ns", "std_ns", "p50_ns", "p90_ns", "p95_ns", "p99_ns", "self_ns",
	"elements", "memory_bytes", "flops", "errors", "share", "exemplar_trace_id", "exemplar_span_id", "mixes",
}

// estimateColumns follow them where every entry carries its sampling weight.
var estimateColumns = []string{"est_count", "est_sum_ns"}

// workColumns come last.
var workColumns = []string{
	"flops_count", "flops_derived", "flops_derived_count", "flops_per_second", "moved_bytes", "moved_count", "flops_per_byte",
}

// rooflineColumns follow them where there are peaks.
var rooflineColumns = []string{
	"roofline_count", "roofline_sum_ns", "roofline_flops", "roofline_moved_bytes", "roofline_bound_ns",
	"roofline_share", "roofline_compute_share", "roofline_bound",
}

// newStatsWriter returns a writer of statistics by the columns of keys.
func newStatsWriter(w io.Writer, r *analyze.Report, opts Options, keys ...string) (*writer, error) {
	header := append(keys, statColumns...)
	estimates := r.Total.EstCount.Known
	if estimates {
		header = append(header, estimateColumns...)
	}
	header = append(header, workColumns...)
	rooflines := len(r.Peaks) > 0
	if rooflines {
		header = append(header, rooflineColumns...)
	}
	out, err := newWriter(w, opts, header)
	if err == nil {
		out.estimates, out.rooflines = estimates, rooflines
	}
	return out, err
}

// WriteOperations writes the table by operation.
func WriteOperations(w io.Writer, r *analyze.Report, opts Options) error {
	out, err := newStatsWriter(w, r, opts, "operation")
	if err != nil {
		return err
	}
	for i := range r.Operations {
		out.text(r.Operations[i].Operation)
		out.stats(&r.Operations[i].Stats)
		if err := out.end(); err != nil {
			return err
		}
	}
	return out.flush()
}

// WriteGroups writes the table of the groups, with a column for each key.
func WriteGroups(w io.Writer, r *analyze.Report, opts Options) error {
	keys := slices.Clone(r.By)
	for i := range keys {
		keys[i] = "by_" + keys[i] // the statistics have columns named kind and operation too
	}
	out, err := newStatsWriter(w, r, opts, keys...)
	if err != nil {
		return err
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		for k := range r.By {
			switch {
			case g.Key.Other:
				out.text(g.Key.String())
			case !g.Key.Values[k].Known:
				out.empty()
			case g.Key.Values[k].Number.Known:
				out.row = append(out.row, g.Key.Values[k].Text)
			default:
				out.text(g.Key.Values[k].Text)
			}
		}
		out.stats(&g.Stats)
		if err := out.end(); err != nil {
			return err
		}
	}
	return out.flush()
}

func (w *writer) stats(s *profile.Stats) {
	w.text(s.Kind)
	w.text(s.Side)
	w.int(s.Count)
	w.int(s.SumNS)
	w.float(s.MeanNS)
	w.int(s.MinNS)
	w.int(s.MaxNS)
	w.knownFloat(s.StdNS)
	w.knownFloat(s.P50NS)
	w.knownFloat(s.P90NS)
	w.knownFloat(s.P95NS)
	w.knownFloat(s.P99NS)
	w.known(s.SelfNS)
	w.int(s.Elements)
	w.int(s.MemoryBytes)
	w.int(s.FLOPs)
	w.int(s.Errors)
	w.knownFloat(s.Share)
	if s.Exemplar == nil {
		w.empty()
		w.empty()
	} else {
		w.text(s.Exemplar.TraceID.String())
		w.text(s.Exemplar.SpanID.String())
	}
	w.text(strings.Join(s.Mixes, " "))
	if w.estimates {
		w.knownFloat(s.EstCount)
		w.knownFloat(s.EstSumNS)
	}
	w.work(&s.Figures)
}

func (w *writer) work(s *work.Figures) {
	w.int(s.FLOPsCount)
	w.int(s.FLOPsDerived)
	w.int(s.FLOPsDerivedCount)
	w.knownFloat(s.FLOPsPerSecond)
	w.known(s.MovedBytes)
	w.int(s.MovedCount)
	w.knownFloat(s.FLOPsPerByte)
	if w.rooflines {
		w.roofline(s.Roofline)
	}
}

func (w *writer) roofline(r *work.Roofline) {
	if r == nil {
		for range rooflineColumns {
			w.empty()
		}
		return
	}
	w.int(r.Count)
	w.int(r.SumNS)
	w.int(r.FLOPs)
	w.int(r.MovedBytes)
	w.float(r.BoundNS)
	w.knownFloat(r.Share)
	w.float(r.ComputeShare)
	w.text(r.Bound)
}

// WriteDevices writes the table of devices.
func WriteDevices(w io.Writer, r *analyze.Report, opts Options) error {
	out, err := newWriter(w, opts, []string{
		"device_id", "rank", "count", "sum_ns", "memory_bytes", "span_ns", "busy_ns", "compute_ns", "exposed_communication_ns",
		"exposed_memory_ns", "other_ns", "idle_ns", "communication_ns", "memory_ns", "overlap_ns", "overlap_ratio",
		"service", "host",
	})
	if err != nil {
		return err
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		out.text(d.DeviceID)
		out.known(d.Rank)
		out.int(d.Count)
		out.int(d.SumNS)
		out.int(d.MemoryBytes)
		for _, ns := range []op.Int{
			d.SpanNS, d.BusyNS, d.ComputeNS, d.ExposedCommunicationNS, d.ExposedMemoryNS, d.OtherNS, d.IdleNS,
			d.CommunicationNS, d.MemoryNS, d.OverlapNS,
		} {
			out.known(ns)
		}
		out.knownFloat(d.OverlapRatio)
		out.text(d.Service)
		out.text(d.Host)
		if err := out.end(); err != nil {
			return err
		}
	}
	return out.flush()
}

// WriteBottlenecks writes the table of communicating operations.
func WriteBottlenecks(w io.Writer, r *analyze.Report, opts Options) error {
	out, err := newWriter(w, opts, []string{"operation", "total_duration_us", "ratio_of_total", "call_count"})
	if err != nil {
		return err
	}
	for _, b := range r.Communication.Bottlenecks {
		out.text(b.Operation)
		out.float(b.TotalDurationUS)
		out.float(b.RatioOfTotal)
		out.int(b.CallCount)
		if err := out.end(); err != nil {
			return err
		}
	}
	return out.flush()
}

// WriteBalance writes the load of each device and its part of the ideal one.
func WriteBalance(w io.Writer, r *analyze.Report, opts Options) error {
	out, err := newWriter(w, opts, []string{"device", "duration_us", "ideal_duration_us", "of_ideal"})
	switch {
	case err != nil:
		return err
	case r.LoadBalance == nil:
		return out.flush()
	}
	ideal := r.LoadBalance.IdealDurationUS
	for _, d := range r.LoadBalance.PerDeviceDurationUS {
		out.text(d.Device)
		out.float(d.DurationUS)
		out.float(ideal)
		if ideal > 0 {
			out.float(d.DurationUS / ideal)
		} else {
			out.empty()
		}
		if err := out.end(); err != nil {
			return err
		}
	}
	return out.flush()
}

// WriteIdle writes the table of the longest idle gaps.
func WriteIdle(w io.Writer, r *analyze.Report, opts Options) error {
	out, err := newWriter(w, opts, []string{
		"device_id", "rank", "start_unix_ns", "duration_ns", "cause", "after", "before", "service", "host",
	})
	if err != nil {
		return err
	}
	for i := range r.Idle {
		g := &r.Idle[i]
		out.text(g.DeviceID)
		out.known(g.Rank)
		out.int(g.StartNS)
		out.int(g.DurationNS)
		out.text(string(g.Cause))
		out.text(g.After)
		out.text(g.Before)
		out.text(g.Service)
		out.text(g.Host)
		if err := out.end(); err != nil {
			return err
		}
	}
	return out.flush()
}

// WriteLaunches writes the table of the streams on which launches are known.
func WriteLaunches(w io.Writer, r *analyze.Report, opts Options) error {
	out, err := newWriter(w, opts, []string{
		"device_id", "rank", "stream", "count", "overhead_count", "overhead_sum_ns", "overhead_median_ns", "overhead_p95_ns", "overhead_max_ns", "waiting_ns", "max_depth",
		"idle_host_gaps", "idle_host_ns", "idle_dependency_gaps", "idle_dependency_ns", "idle_queue_gaps", "idle_queue_ns",
		"idle_other_gaps", "idle_other_ns", "service", "host",
	})
	switch {
	case err != nil:
		return err
	case r.Launches == nil:
		return out.flush()
	}
	for i := range r.Launches.Streams {
		s := &r.Launches.Streams[i]
		out.text(s.DeviceID)
		out.known(s.Rank)
		out.known(s.Stream)
		o := &s.Overhead
		for _, n := range []op.Int{op.Known(s.Count), op.Known(o.Count), op.Known(o.SumNS), o.MedianNS, o.P95NS, op.Known(o.MaxNS),
			op.Known(s.WaitingNS), op.Known(s.MaxDepth)} {
			out.known(n)
		}
		for _, sum := range []timeline.IdleSum{s.Idle.Host, s.Idle.Dependency, s.Idle.Queue, s.Idle.Other} {
			out.int(sum.Count)
			out.int(sum.SumNS)
		}
		out.text(s.Service)
		out.text(s.Host)
		if err := out.end(); err != nil {
			return err
		}
	}
	return out.flush()
}

// WriteCriticalPath writes the table of the critical paths' parts.
func WriteCriticalPath(w io.Writer, r *analyze.Report, opts Options) error {
	out, err := newWriter(w, opts, []string{"operation", "kind", "device_id", "rank", "ns", "share", "segments", "service", "host", "drag_ns"})
	if err != nil {
		return err
	}
	for i := range r.CriticalPath {
		s := &r.CriticalPath[i]
		out.text(s.Operation)
		out.text(s.Kind)
		out.text(s.DeviceID)
		out.known(s.Rank)
		out.int(s.TimeNS)
		out.float(s.Share)
		out.int(s.Segments)
		out.text(s.Service)
		out.text(s.Host)
		out.known(s.DragNS)
		if err := out.end(); err != nil {
			return err
		}
	}
	return out.flush()
}

// WriteSteps writes the table of steps.
func WriteSteps(w io.Writer, r *analyze.Report, opts Options) error {
	out, err := newWriter(w, opts, []string{"step", "service", "run", "count", "sum_ns", "wall_ns", "busy_ns"})
	if err != nil {
		return err
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		out.int(s.Step)
		out.text(s.Service)
		out.int(s.Run)
		out.int(s.Count)
		out.int(s.SumNS)
		out.known(s.WallNS)
		out.known(s.BusyNS)
		if err := out.end(); err != nil {
			return err
		}
	}
	return out.flush()
}

// WriteHotspots writes the entries above the memory threshold.
func WriteHotspots(w io.Writer, r *analyze.Report, opts Options) error {
	return WriteEntries(w, r.Memory.Hotspots, opts)
}

// WriteSlowest writes the slowest entries.
func WriteSlowest(w io.Writer, r *analyze.Report, opts Options) error {
	return WriteEntries(w, r.Slowest, opts)
}

// WriteEntries writes a list of entries, such as the slowest or the hotspots
// of a report.
func WriteEntries(w io.Writer, entries []*op.Entry, opts Options) error {
	out, err := NewEntryWriter(w, opts)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := out.Write(e); err != nil {
			return err
		}
	}
	return out.Flush()
}
