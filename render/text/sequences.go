package text

import (
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/sequences"
	"github.com/optrace/optrace/internal/text/units"
)

func (v *view) sequences() {
	s := v.r.Sequences
	if s == nil || s.Count == 0 && v.Show == nil {
		return
	}
	v.empty("REPEATED SEQUENCES", s.Count == 0, "none of "+units.Plural(s.RunOperations,
		"short operation")+" in "+units.Plural(s.Runs, "run"))
	show(&v.page, "sequence:n|length:3|times|rounds:6|sum|share:2|gaps|of both:4|streams:n5", s.Rows,
		func(t *table, s *sequences.Sequence) {
			t.add(sequenceText(s.Operations), strconv.Itoa(len(s.Operations)), units.Count(s.Count),
				units.Count(s.Rounds), units.Duration(s.SumNS), knownFloat(s.Share, units.Percent),
				units.Duration(s.GapNS), knownFloat(s.GapShare, units.Percent), streamsText(s.Streams, v.ranks))
		})
	if n := s.Count - int64(len(s.Rows)); n > 0 {
		v.note("… and " + units.Count(n) + " more that take less time")
	}
	short := units.Duration(s.ShortNS)
	text := "operations of up to " + short + " that follow each other on a stream below one parent, within " + short +
		"; up to " + units.Count(s.MaxOperations) + " operations a round; times: occurrences, each of one or more " +
		"rounds; gaps: the time between operations, and its part of both"
	v.note(text + ifAny(s.LeftOut, "; "+units.Plural(s.LeftOut,
		"operation")+" of runs that differ from all others were not looked at"))
}

// sequenceText joins operations and counts consecutive equal ones.
func sequenceText(operations []string) string {
	names := distinct(operations, maxInText)
	var parts []string
	for i := 0; i < len(operations); {
		n := 1
		for i+n < len(operations) && operations[i+n] == operations[i] {
			n++
		}
		part := names[i]
		if n > 1 {
			part += " ×" + strconv.Itoa(n)
		}
		parts = append(parts, part)
		i += n
	}
	return strings.Join(parts, " → ")
}

// streamsText names up to two streams of a sequence, or counts them.
func streamsText(streams []sequences.Stream, ranks bool) string {
	if len(streams) > 2 {
		return units.Count(int64(len(streams)))
	}
	var names []string
	for i := range streams {
		name := streams[i].Label(ranks)
		if streams[i].Stream.Known {
			name += " stream " + streams[i].Stream.String()
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
