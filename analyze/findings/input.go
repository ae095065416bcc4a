package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/findings/internal/inputs"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// much is the least share of lost or doubtful input for its finding to come first.
const much = 0.1

func (l *list) input() {
	in := &l.Input
	where := Where{Section: "summary"}
	var lost []string
	if in.Dropped > 0 {
		lost = append(lost, units.Count(in.Dropped)+" dropped by the recorder")
	}
	if in.MissingEntries > 0 {
		lost = append(lost, units.Count(in.MissingEntries)+" announced and not in the input")
	}
	if in.Truncated > 0 {
		lost = append(lost, units.Plural(in.Truncated, "file")+" cut off")
	}
	if len(lost) > 0 {
		n := in.Dropped + in.MissingEntries
		text := "The recording is lossy: " + strings.Join(lost, ", ")
		if n > 0 {
			text += fmt.Sprintf(", %s of all operations; sums and times are too small by them",
				units.Percent(float64(n)/float64(n+in.Entries)))
		}
		l.note(Finding{Kind: Lost, Text: text + ".", Where: where}, float64(n) > much*float64(n+in.Entries))
	}
	if all := in.Summarized + in.Entries; float64(in.Summarized) > much*float64(all) {
		f := says(Lost, where, "%s of %s have no times: the backend has their sums only.",
			units.Count(in.Summarized), units.Plural(all, "operation"))
		f.Try = "give the file that the service records, beside the backend"
		l.note(f, true)
		l.unknown = cmp.Or(l.unknown, "work has no times")
	}
	var what []string
	n := in.Malformed
	if n > 0 {
		what = append(what, "malformed "+units.Count(n))
	}
	for _, c := range inputs.NotUnderstood(in.SkippedBy) {
		n += in.SkippedBy[c]
		name := strings.ReplaceAll(strings.TrimPrefix(c, string(op.SkipCategory)), "_", " ")
		what = append(what, name+" "+units.Count(in.SkippedBy[c]))
	}
	if n > 0 {
		l.note(says(NotUnderstood, where, "%s that may be operations were not understood: %s.",
			units.Plural(n, "record"), strings.Join(what, ", ")),
			float64(n) > much*float64(n+in.Entries))
	}
	if in.TimeUnit != "" {
		who := units.Count(in.EarlyStarts) + " of " + units.Plural(in.Entries, "operation")
		if in.EarlyStarts == in.Entries {
			who = "All operations"
		}
		l.note(says(Suspect, where,
			"%s start in 1970: times look like %s. Record Unix nanoseconds, as time.Now().UnixNano() returns.",
			who, in.TimeUnit).by("units"), true)
	}
	if in.BadProducts > 0 {
		l.note(says(Suspect, where, "%s of shapes that cannot be multiplied, such as %s.",
			units.Plural(in.BadProducts, "product"), in.BadProduct).by("units"), false)
	}
	l.failures()
	l.suspect()
}

func (l *list) failures() {
	rows := slices.DeleteFunc(slices.Clone(l.Operations), func(o profile.Operation) bool { return o.Errors == 0 })
	if len(rows) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b profile.Operation) int { return cmp.Compare(b.Errors, a.Errors) })
	const most = 3
	n := int64(0)
	var what []string
	for i, o := range rows {
		n += o.Errors
		if i < most {
			what = append(what, fmt.Sprintf("%s %s of %s",
				l.named(o.Operation), units.Count(o.Errors), units.Count(o.Count)))
		}
	}
	if len(rows) > most {
		what = append(what, units.Plural(int64(len(rows)-most), "other operation"))
	}
	text := ""
	if often, count := inputs.MostFrequentError(l.Errors); often != "" {
		if text = fmt.Sprintf(", %q", l.named(often)); count < n {
			text = fmt.Sprintf(", most often %q (%s)", l.named(often), units.Count(count))
		}
	}
	found := says(failed, Where{Section: "errors", Operation: rows[0].Operation}, "%s of %s ended with an error%s: %s.",
		units.Count(n), units.Plural(l.Total.Count, "operation"), text, strings.Join(what, ", ")).by("errors")
	if float64(n) > much*float64(l.Total.Count) {
		l.first = append(l.first, found)
	} else {
		l.failed = append(l.failed, found)
	}
}

// note adds a finding about the input, before all others if first is set.
func (l *list) note(f Finding, first bool) {
	if first {
		l.first = append(l.first, f)
	} else {
		l.all = append(l.all, f)
	}
}

func (l *list) suspect() {
	i := slices.IndexFunc(l.Input.Suspects, func(s suspects.Suspect) bool { return s.What == suspects.Duration })
	if i < 0 {
		return
	}
	s := &l.Input.Suspects[i]
	found := says(Suspect, Where{Section: "operations", Operation: s.Operation, DeviceID: s.DeviceID, Rank: s.Rank},
		"%s, %s; the longest is %s with %s.", units.Plural(l.Input.SuspectDurations, "suspect duration"),
		suspects.Reason(l.Input.Suspects, l.Input.SuspectDurations), l.named(s.Operation), units.Duration(s.DurationNS))
	doubt := false
	if w := l.WithoutSuspects; w != nil {
		found.Text += fmt.Sprintf(" Without suspect times all operations take %s instead of %s.",
			units.Duration(w.SumNS), units.Duration(l.Total.SumNS))
		doubt = float64(w.SumNS) < (1-much)*float64(l.Total.SumNS)
	}
	l.note(found, doubt)
}

// emptyInput explains an input without operations, and how to record some.
func emptyInput(in *Input) Finding {
	e := inputs.Input{
		Filtered: in.SkippedBy[string(op.SkipFiltered)], Formats: in.Formats, Spans: in.Spans,
		IsEmpty:    in.Files > 0 && in.Spans+in.Malformed == 0 && len(in.SkippedBy) == 0,
		HasUnknown: in.SkippedBy[string(op.SkipUnknownRecord)] > 0,
	}
	text, command := e.Explain()
	return Finding{Kind: Nothing, Text: text, Where: Where{Command: command}}
}
