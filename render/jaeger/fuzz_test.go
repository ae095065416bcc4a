package jaeger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/op"
)

// Whatever names are, the traces read back as what was written, in microseconds.
func FuzzWrite(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		e.Start.V = max(e.Start.V, 1000)
		if e.Validate() != nil {
			t.Skip("the end does not fit")
		}
		want := []string{string(floored(e).AppendJSON(nil))}
		if diff := cmp.Diff(want, read(t, write(t, op.Record{Entry: e}))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
