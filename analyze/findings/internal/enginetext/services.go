package enginetext

import (
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// Spans returns the spans with most of a time, a twentieth each at least.
func Spans(on []path.Operation, whole int64) []path.Operation {
	const most = 3
	of := slices.DeleteFunc(slices.Clone(on), func(o path.Operation) bool { return o.Kind != path.KindHost || 20*o.TimeNS < whole })
	return of[:min(most, len(of))]
}

// Services says in which spans a number of requests without operations spend their time, by the sums over their paths.
func Services(f *trace.Forest, on []path.Operation, number, whole int64) string {
	calls := make(map[string]int64)
	for r := range f.Rows() {
		if !f.Has(r, trace.FlagDuplicate) {
			calls[f.RowName(r)]++
		}
	}
	var in []string
	for _, o := range Spans(on, whole) {
		in = append(in, fmt.Sprintf("%s (%s, %s, %s)", requests.NameInText(o.Operation), units.Duration(o.TimeNS),
			units.Percent(float64(o.TimeNS)/float64(whole)), units.Plural(calls[o.Operation], "call")))
	}
	text := "The critical path of one request takes "
	if number > 1 {
		text = "The critical paths of " + units.Plural(number, "request") + " take "
	}
	text += units.Duration(whole)
	if len(in) > 0 {
		text += ", mostly in " + strings.Join(in, ", ")
	}
	return text + "."
}

// ShortID returns the first digits of an id, or the last ones behind leading zeros.
func ShortID(id op.TraceID) string {
	const digits = 8
	text := id.String()
	if strings.Trim(text[:digits], "0") == "" {
		return "…" + text[len(text)-digits:]
	}
	return text[:digits]
}
