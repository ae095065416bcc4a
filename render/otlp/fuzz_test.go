package otlp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/op"
)

// Whatever names are, the spans read back as what was written, and the Collector reads
// as many. OTLP has no times before 1970.
func FuzzWrite(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		e.Start.V = max(e.Start.V, 1)
		if e.Validate() != nil {
			t.Skip("the end does not fit")
		}
		if diff := cmp.Diff([]string{string(e.AppendJSON(nil))}, read(t, write(t, op.Record{Entry: e}))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
