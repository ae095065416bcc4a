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
	if c.Engines > 1 {
		text += fmt.Sprintf("; requests do not say which of %s engines ran them", units.Count(c.Engines))
	}
	if c.Ambiguous > 0 {
		text += fmt.Sprintf("; %s fit several requests", units.Count(c.Ambiguous))
	}
	if c.Unmatched > 0 {
		text += fmt.Sprintf("; %s do not add up to the tokens of requests", units.Count(c.Unmatched))
	}
	v.field("batches", text, c.Told < c.Steps)
}
