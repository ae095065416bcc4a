package text

import (
	"fmt"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/internal/text/units"
)

// composed says how many batches follow from the counts of steps without links, and why others do not.
func (v *correlation) composed(c *engines.Composition) {
	if c == nil {
		return
	}
	text := fmt.Sprintf("%s of %s without links follow from the tokens and times of requests", units.Count(c.Told),
		units.Count(c.Steps))
	switch {
	case c.Engines > 1:
		text += fmt.Sprintf("; requests do not say which of %s engines ran them", units.Count(c.Engines))
	case c.Told < c.Steps:
		for _, reason := range []struct {
			n    int64
			text string
		}{{c.Ambiguous, "fit several requests"}, {c.Unmatched, "do not add up to the tokens of requests"}} {
			if reason.n > 0 {
				text += fmt.Sprintf("; %s %s", units.Count(reason.n), reason.text)
			}
		}
	}
	v.field("batches", text, c.Told < c.Steps)
}
