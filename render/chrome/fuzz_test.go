package chrome_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/optest"
)

// Whatever names and times are, the timeline reads back as what was written.
func FuzzWrite(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		want, got := readBack(t, []*op.Entry{e}, nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
