package csv

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/launch"
	"github.com/optrace/optrace/analyze/operators"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/analyze/sequences"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/op"
)

// tables maps the name of a section to the writer of its table.
var tables = map[string]func(w io.Writer, r *analyze.Report, opts Options) error{
	"operations": func(w io.Writer, r *analyze.Report, opts Options) error {
		return writeTable(w, opts, r.Operations, append(fields[profile.Operation]("operation"),
			statColumns[profile.Operation](r)...))
	},
	"groups": writeGroups,
	"findings": table("kind text saved_ns of_ns chance"+
		" section=where.section operation=where.operation device_id=where.device_id rank=where.rank",
		func(r *analyze.Report) []findings.Finding { return r.Findings }),
	"operators": func(w io.Writer, r *analyze.Report, opts Options) error {
		return writeTable(w, opts, cmp.Or(r.Operators, &operators.Operators{}).Rows,
			fields[operators.Row]("operator calls device_self_ns device_total_ns host_self_ns host_total_ns kernels"+
				" memory_bytes flops device_idle_ns"+rooflineKeys(r)))
	},
	"devices": table("device_id rank count sum_ns memory_bytes span_ns busy_ns compute_ns exposed_communication_ns "+
		"exposed_memory_ns"+
		" other_ns idle_ns communication_ns memory_ns overlap_ns overlap_ratio service host",
		func(r *analyze.Report) []profile.Device { return r.Devices }),
	"balance": writeBalance,
	"communication": table("operation total_duration_us ratio_of_total call_count",
		func(r *analyze.Report) []seed.Bottleneck { return r.Communication.Bottlenecks }),
	"memory": func(w io.Writer, r *analyze.Report, opts Options) error {
		return WriteEntries(w, r.Memory.Hotspots, opts)
	},
	"slowest": func(w io.Writer, r *analyze.Report, opts Options) error { return WriteEntries(w, r.Slowest, opts) },
	"errors": table("text operation side count first.trace_id first.span_id first.start_unix_ns",
		func(r *analyze.Report) []profile.Error { return r.Errors }),
	"idle": table("device_id rank start_unix_ns duration_ns cause after before service host",
		func(r *analyze.Report) []timeline.IdleGap { return r.Idle }),
	"launches": table("device_id rank stream count overhead.count overhead.sum_ns overhead.median_ns overhead.p95_ns"+
		" overhead.max_ns waiting_ns max_depth idle_host_gaps=idle.host.count idle_host_ns=idle.host.sum_ns"+
		" idle_dependency_gaps=idle.dependency.count idle_dependency_ns=idle.dependency.sum_ns"+
		" idle_queue_gaps=idle.queue.count idle_queue_ns=idle.queue.sum_ns"+
		" idle_other_gaps=idle.other.count idle_other_ns=idle.other.sum_ns service host",
		func(r *analyze.Report) []launch.Stream { return cmp.Or(r.Launches, &launch.Launches{}).Streams }),
	"critical_path": table("operation kind device_id rank ns share segments service host drag_ns",
		func(r *analyze.Report) []path.Share { return r.CriticalPath }),
	"sequences": writeSequences,
	"steps": table("step service run count sum_ns wall_ns busy_ns name source phase tokens requests to_next_ns",
		func(r *analyze.Report) []steps.Row { return r.Steps }),
	"phases":  table("phase steps count sum_ns tokens", func(r *analyze.Report) []steps.Phase { return r.Phases }),
	"engines": writeEngines,
}

func table[T any](keys string, rows func(*analyze.Report) []T) func(io.Writer, *analyze.Report, Options) error {
	return func(w io.Writer, r *analyze.Report, opts Options) error {
		return writeTable(w, opts, rows(r), fields[T](keys))
	}
}

// Write writes the table of a section of a report. The section has its name in the text form ("operations", "devices",
// "critical_path", …), or is "groups", the table by keys. Any other name is an error.
func Write(w io.Writer, r *analyze.Report, section string, opts Options) error {
	write, ok := tables[section]
	if !ok {
		return fmt.Errorf("csv: a report has no section %q", section)
	}
	return write(w, r, opts)
}

// statColumns returns the columns of the statistics in T. They include estimates where every entry carries its sampling
// weight, and rooflines where the report has peaks.
func statColumns[T any](r *analyze.Report) []column[T] {
	keys := "kind side count sum_ns mean_ns min_ns max_ns std_ns p50_ns p90_ns p95_ns p99_ns self_ns" +
		" elements memory_bytes flops errors share exemplar.trace_id exemplar.span_id mixes"
	if r.Total.EstCount.Known {
		keys += " est_count est_sum_ns"
	}
	keys += " flops_count flops_derived flops_derived_count flops_per_second moved_bytes moved_count flops_per_byte"
	return fields[T](keys + rooflineKeys(r))
}

func rooflineKeys(r *analyze.Report) string {
	if len(r.Peaks) == 0 {
		return ""
	}
	return " roofline.count roofline.sum_ns roofline.flops roofline.moved_bytes roofline.bound_ns" +
		" roofline.share roofline.compute_share roofline.bound"
}

func writeGroups(w io.Writer, r *analyze.Report, opts Options) error {
	var columns []column[profile.Group]
	for k, name := range r.By { // the statistics have columns named kind and operation too
		columns = append(columns, column[profile.Group]{"by_" + name, func(w *writer, g *profile.Group) {
			switch {
			case g.Key.Other:
				w.text(g.Key.String())
			case g.Key.Values[k].Number.Known:
				w.plain(g.Key.Values[k].Text, true)
			default:
				w.text(g.Key.Values[k].Text)
			}
		}})
	}
	return writeTable(w, opts, r.Groups, append(columns, statColumns[profile.Group](r)...))
}

func writeBalance(w io.Writer, r *analyze.Report, opts Options) error {
	b := cmp.Or(r.LoadBalance, &profile.Balance{})
	type load = seed.DeviceDuration
	columns := []column[load]{
		{"device", func(w *writer, d *load) { w.text(d.Device) }},
		{"duration_us", func(w *writer, d *load) { w.float(d.DurationUS, true) }},
		{"ideal_duration_us", func(w *writer, _ *load) { w.float(b.IdealDurationUS, true) }},
		{"of_ideal", func(w *writer, d *load) { w.float(d.DurationUS/b.IdealDurationUS, b.IdealDurationUS > 0) }},
	}
	return writeTable(w, opts, b.PerDeviceDurationUS, columns)
}

// writeSequences writes the repeated sequences, with the names of their operations as a JSON list.
func writeSequences(w io.Writer, r *analyze.Report, opts Options) error {
	columns := []column[sequences.Sequence]{
		{"operations", func(w *writer, s *sequences.Sequence) {
			list, _ := json.Marshal(s.Operations) // texts only
			w.text(string(list))
		}},
		{"length", func(w *writer, s *sequences.Sequence) { w.int(int64(len(s.Operations))) }},
	}
	columns = append(columns, fields[sequences.Sequence]("count rounds sum_ns share gap_ns gap_share")...)
	columns = append(columns, column[sequences.Sequence]{"streams",
		func(w *writer, s *sequences.Sequence) { w.int(int64(len(s.Streams))) }})
	return writeTable(w, opts, cmp.Or(r.Sequences, &sequences.Sequences{}).Rows, columns)
}

func writeEngines(w io.Writer, r *analyze.Report, opts Options) error {
	keys := []string{"dialect service model requests tokens_in tokens_out"}
	for _, times := range []string{"e2e_ns", "ttft_ns", "tpot_ns", "queue_ns", "prefill_ns", "decode_ns", "execute_ns",
		"other_ns"} {
		for _, figure := range []string{"count", "mean", "p50", "p95", "p99", "max"} {
			keys = append(keys, times+"."+figure)
		}
	}
	keys = append(keys, "slow.requests slow.beyond_ns slow.part slow.part_ns slow.trace_id slow.span_id")
	columns := fields[engines.Engine](strings.Join(keys, " "))
	for _, name := range r.By {
		columns = append(columns, column[engines.Engine]{
			"by_" + name, func(w *writer, e *engines.Engine) { w.text(e.Key[strings.TrimPrefix(name, "attr:")]) },
		})
	}
	return writeTable(w, opts, r.Engines, columns)
}

// WriteEntries writes a list of entries, such as the slowest of a report.
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
