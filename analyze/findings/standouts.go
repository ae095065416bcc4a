package findings

import (
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

func (l *list) standouts() {
	if s := l.First; s != nil {
		l.add(says(FirstStep, Where{Section: "steps", FromNS: op.Known(s.StartNS), ToNS: op.Known(s.EndNS)},
			"The first step took %s, the median of the %s %s: it warms up. "+
				"Without that the run would be %s shorter.", units.Duration(s.ToNextNS.V), units.Plural(int64(s.Others), "other"),
			units.Duration(s.MedianNS), l.part(s.ToNextNS.V-s.MedianNS)), s.ToNextNS.V-s.MedianNS)
	}
	for i := range l.Alike {
		a := &l.Alike[i]
		if a.First != nil && l.First == nil {
			l.add(says(FirstStep, whereRequest(a.First),
				"The first %s took %s, the median of the others %s: it warms up.%s", l.named(a.Name),
				units.Duration(a.First.DurationNS), units.Duration(a.First.MedianNS), cause(a.First)),
				a.First.BeyondNS)
		}
		if s := a.Slow; s != nil && a.ChanceOf <= maxChance {
			f := says(SlowRequest, whereRequest(s),
				"The slowest %s took %s, the median %s, chance %s; as slow, by %d times the median, are %s of %s.%s",
				l.named(a.Name), units.Duration(s.DurationNS), units.Duration(s.MedianNS), probability(a.ChanceOf),
				requests.Slower, units.Count(a.SlowCount), units.Count(a.Count), cause(s))
			f.Chance = op.KnownFloat(a.ChanceOf)
			l.add(f, s.BeyondNS)
		}
		if a.QueuedNS > 0 {
			l.add(says(SlowRequest, Where{Section: "critical_path", Operation: a.Name},
				"%s waited in a queue: %s passed before their first operation while others ran, of %s in all.",
				units.Plural(a.Count, "request")+" "+l.named(a.Name), units.Duration(a.QueuedNS),
				units.Duration(a.DurationNS)), a.QueuedNS)
		}
	}
}

func whereRequest(s *requests.Standout) Where {
	return Where{
		Section: "critical_path", TraceID: s.TraceID, SpanID: s.SpanID,
		FromNS: op.Known(s.StartNS), ToNS: op.Known(s.StartNS + s.DurationNS),
	}
}

func cause(s *requests.Standout) string {
	if len(s.Causes) == 0 {
		return ""
	}
	return " " + s.Causes[0].Text
}
