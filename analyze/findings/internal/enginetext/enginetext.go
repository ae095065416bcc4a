// Package enginetext says in words what engines and services state about their requests.
package enginetext

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/internal/text/units"
)

var partInText = map[string]string{
	"queue": "in the queue", "prefill": "in prefill", "decode": "in decode",
	"execute": "in the model", "other": "outside the queue and the model",
}

// All says where the time of the requests of an engine was spent.
func All(e *engines.Engine) string {
	var shares []string
	most := 0.0
	part := ""
	all := 0.0 // of the requests with stated parts
	for _, t := range e.Parts {
		all += t.Mean * float64(t.Count)
	}
	for name, t := range e.Parts {
		sum := t.Mean * float64(t.Count)
		shares = append(shares, name+" "+units.Percent(sum/max(1, all)))
		if sum > most {
			most, part = sum, name
		}
	}
	of := units.Plural(e.Requests, "request") + " of " + engineName(e)
	if part == "" {
		return fmt.Sprintf("%s: %s; the engine does not say what for.", of, timesText(e.E2E))
	}
	text := "Most"
	if most <= all/2 {
		text = "The largest part"
	}
	text += fmt.Sprintf(" of the time of %s was spent %s: %s of %s", of, partInText[part], strings.Join(shares, ", "),
		units.Duration(int64(all)))
	if e.E2E.Count > 1 {
		text += " in all. One takes " + timesText(e.E2E)
	}
	text += "."
	if e.Other.Count < e.Requests {
		text += fmt.Sprintf(" Only %s of them stated parts.", units.Count(e.Other.Count))
	} else if all > 1.01*e.E2E.Mean*float64(e.E2E.Count) {
		text += " The engine states parts longer than a request."
	}
	if e.TTFT != nil {
		text += fmt.Sprintf(" The first token comes after %s.", timesText(e.TTFT))
	}
	return text
}

func timesText(t *engines.Times) string {
	if t.Count == 1 {
		return units.Duration(t.Max)
	}
	return fmt.Sprintf("%s at the median, %s at the 99th percentile", units.Duration(t.P50), units.Duration(t.P99))
}

// Slow says how the slow requests of an engine differ from the others.
func Slow(e *engines.Engine) string {
	s := e.Slow
	text := fmt.Sprintf("%s of %s of %s took at least %d times the median, %s more than the others in the mean",
		units.Count(s.Requests), units.Plural(e.Requests, "request"), engineName(e), engines.Slower,
		units.Duration(s.MoreNS))
	if s.Part != "" {
		text += fmt.Sprintf(": %s of it %s", units.Duration(s.PartNS), partInText[s.Part])
	}
	if s.Part == "decode" && s.TokensOut.Known && s.TypicalOut.Known {
		text += fmt.Sprintf(", for %s written instead of %s",
			units.Plural(s.TokensOut.V, "token"), units.Count(s.TypicalOut.V))
	}
	return text + fmt.Sprintf(". The slowest took %s.", units.Duration(e.E2E.Max))
}

func engineName(e *engines.Engine) string {
	name := e.Dialect
	if e.Model.Known {
		name = requests.NameInText(e.Model.Text) + " (" + name + ")"
	}
	return name
}
