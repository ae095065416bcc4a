package findings

import (
	"strings"

	"github.com/optrace/optrace/internal/text/units"
)

// Gain states the gain of a change, "" if it is not known or only part of the text.
func (f *Finding) Gain() string {
	part := func(ns int64) string {
		if f.OfNS.V <= 0 {
			return units.Duration(ns)
		}
		return units.Duration(ns) + " (" + units.Percent(float64(ns)/float64(f.OfNS.V)) + ")"
	}
	const far = 2 // a bound that says little alone
	low, high := f.SavedLowNS, f.SavedHighNS
	switch {
	case !f.SavedNS.Known || f.Try == "" && !high.Known:
		return ""
	case !high.Known:
		return "at most " + part(f.SavedNS.V)
	case (!low.Known || low.V <= 0) && f.SavedNS.V > 0 && high.V > far*f.SavedNS.V:
		return part(f.SavedNS.V) + ", at most " + units.Duration(high.V)
	case !low.Known || low.V <= 0:
		return "at most " + part(high.V)
	case low.V == high.V:
		return part(f.SavedNS.V)
	}
	from, unit, _ := strings.Cut(units.Duration(low.V), " ")
	to := units.Duration(high.V)
	if !strings.HasSuffix(to, " "+unit) {
		from += " " + unit
	}
	return part(f.SavedNS.V) + ", " + from + " to " + to
}
