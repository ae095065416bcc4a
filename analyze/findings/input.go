package findings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/internal/units"
	"github.com/optrace/optrace/op"
)

// much is the part of the input from which what is missing, or in doubt, comes before all findings.
const much = 0.1

// input says what is missing or in doubt.
func (l *list) input() {
	in := &l.Input
	where := Where{Section: "summary", Command: "optrace report -section summary"}
	if n := in.Dropped + in.MissingEntries; n > 0 || in.Truncated > 0 {
		var what []string
		for _, p := range []struct {
			n    int64
			what string
		}{{in.Dropped, "dropped by the recorder"}, {in.MissingEntries, "announced and not in the input"}} {
			if p.n > 0 {
				what = append(what, units.Count(p.n)+" "+p.what)
			}
		}
		if in.Truncated > 0 {
			what = append(what, plural(in.Truncated, "file")+" cut off")
		}
		text := "The recording is lossy: " + strings.Join(what, ", ")
		if n > 0 {
			text += fmt.Sprintf(", %s of all operations; sums and times are too small by them", units.Percent(float64(n)/float64(n+in.Entries)))
		}
		l.note(Finding{Kind: Lost, Text: text + ".", Where: where}, float64(n) > much*float64(n+in.Entries))
	}
	classes := notUnderstood(in)
	n := in.Malformed
	for _, c := range classes {
		n += in.SkippedBy[c]
	}
	if n > 0 {
		var what []string
		if in.Malformed > 0 {
			what = append(what, "malformed "+units.Count(in.Malformed))
		}
		for _, c := range classes {
			what = append(what, strings.ReplaceAll(strings.TrimPrefix(c, string(op.SkipCategory)), "_", " ")+" "+units.Count(in.SkippedBy[c]))
		}
		l.note(Finding{
			Kind:  NotUnderstood,
			Text:  plural(n, "record") + " that may be operations were not understood: " + strings.Join(what, ", ") + ".",
			Where: where,
		}, float64(n) > much*float64(n+in.Entries))
	}
	l.failures()
	l.suspect()
}

// failures tells of operations that ended with an error, by their names.
func (l *list) failures() {
	rows := slices.DeleteFunc(slices.Clone(l.Operations), func(o profile.Operation) bool { return o.Errors == 0 })
	if len(rows) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b profile.Operation) int { return cmp.Compare(b.Errors, a.Errors) })
	const most = 3
	n, what := int64(0), []string{}
	for i, o := range rows {
		n += o.Errors
		if i < most {
			what = append(what, fmt.Sprintf("%s %s of %s", named(o.Operation), units.Count(o.Errors), units.Count(o.Count)))
		}
	}
	if len(rows) > most {
		what = append(what, plural(int64(len(rows)-most), "other operation"))
	}
	l.note(Finding{
		Kind:  failed,
		Text:  fmt.Sprintf("%s of %s ended with an error: %s.", units.Count(n), plural(l.Total.Count, "operation"), strings.Join(what, ", ")),
		Where: Where{Section: "operations", Operation: rows[0].Operation, Command: "optrace report -section operations"},
	}, float64(n) > much*float64(l.Total.Count))
}

// note adds a finding about the input, before all others if it puts the figures in doubt.
func (l *list) note(f Finding, first bool) {
	if first {
		l.first = append(l.first, f)
	} else {
		l.all = append(l.all, f)
	}
}

// notUnderstood returns the reasons of what was skipped and may be operations, the most frequent first.
func notUnderstood(in *Input) []string {
	var classes []string
	for reason, n := range maps.All(in.SkippedBy) {
		switch op.SkipReason(reason) {
		case op.SkipUnknownRecord, op.SkipUnpaired:
		default:
			if !strings.HasPrefix(reason, string(op.SkipCategory)) {
				continue
			}
		}
		if n > 0 {
			classes = append(classes, reason)
		}
	}
	slices.SortFunc(classes, func(a, b string) int {
		return cmp.Or(cmp.Compare(in.SkippedBy[b], in.SkippedBy[a]), strings.Compare(a, b))
	})
	return classes
}

// suspect tells of durations that cannot be right.
func (l *list) suspect() {
	i := slices.IndexFunc(l.Input.Suspects, func(s suspects.Suspect) bool { return s.What == suspects.Duration })
	if i < 0 {
		return
	}
	s := &l.Input.Suspects[i]
	text := fmt.Sprintf("%s, still running when a later operation of the stream had ended; the longest is %s with %s.",
		plural(l.Input.SuspectDurations, "suspect duration"), named(s.Operation), units.Duration(s.DurationNS))
	found := Finding{Kind: Suspect, Where: Where{Section: "operations", Operation: s.Operation, DeviceID: s.DeviceID, Rank: s.Rank}}
	doubt := false
	found.Where.Command = "optrace report -section operations"
	if w := l.WithoutSuspects; w != nil {
		text += fmt.Sprintf(" Without suspect times all operations take %s instead of %s.", units.Duration(w.SumNS),
			units.Duration(l.Total.SumNS))
		doubt = float64(w.SumNS) < (1-much)*float64(l.Total.SumNS)
	}
	found.Text = text
	l.note(found, doubt)
}

// nothing says that there are no operations, and how to send some.
func nothing(in *Input) Finding {
	if n := in.SkippedBy[string(op.SkipFiltered)]; n > 0 {
		return Finding{Kind: Nothing, Text: plural(n, "operation") + " came in, and none of them is what is asked for."}
	}
	text := "Nothing came in."
	if in.Spans > 0 {
		text = plural(in.Spans, "span") + " came in, none of them an operation: " +
			"operations have the attribute tensor.op.name, or come from a profiler."
	}
	return Finding{
		Kind: Nothing,
		Text: text + " Record with optrace.NewFileExporter and run optrace report ops.jsonl, or run optrace serve and set " +
			"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318.",
		Where: Where{Command: "optrace serve"},
	}
}
