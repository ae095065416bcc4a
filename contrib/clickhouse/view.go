package clickhouse

import (
	_ "embed" // the statement
	"strings"
)

// viewStatement has the columns of the table, as expressions on a span. They refer to one another.
//
//go:embed view.sql
var viewStatement string

// ViewStatement returns the statement that creates a view with the columns of the table over the spans of
// the Collector's ClickHouse exporter; its table is otel_traces by default. Like the exporter it needs a
// version with maps and times in nanoseconds.
//
// Spans with the attribute tensor.op.name are operations. The exporter stores attributes as text: integers
// in decimal, lists as JSON.
func ViewStatement(view, traces string) string {
	names := strings.NewReplacer("{view}", quoteName(view), "{traces}", quoteName(traces))
	return strings.TrimSpace(names.Replace(viewStatement))
}
