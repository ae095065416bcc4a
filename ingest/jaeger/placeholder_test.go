package jaeger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/opfile"
	"github.com/optrace/optrace/op"
)

// What was written without ids or a start has none when it is read.
func TestPlaceholders(t *testing.T) {
	for _, test := range []struct {
		duration string
		want     op.Warning
	}{
		{"100", op.WarnNoStart},
		{"0", op.WarnBadTime},
	} {
		text := `{"data":[{"spans":[{"traceID":"` + opfile.PlaceholderTraceID(1).String() + `","spanID":"0000000000000001",` +
			`"operationName":"relu","startTime":0,"duration":` + test.duration + `,"tags":[{"key":"tensor.op.name","value":"relu"}]}]}]}`
		n := 0
		for rec, err := range jaeger.Records(strings.NewReader(text), "test", nil) {
			n++
			if e := rec.Entry; err != nil || e == nil || !e.TraceID.IsZero() || !e.SpanID.IsZero() || e.Start.Known ||
				e.Warn != test.want|op.WarnMicroseconds {
				t.Errorf("duration %s: %+v, %v", test.duration, e, err)
			}
		}
		check.Equal(t, fmt.Sprintf("duration %s: records", test.duration), 1, n)
	}
}
