package timeline_test

import (
	"testing"

	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/op"
)

// Whatever names and times are, timelines read back as what was written.
func FuzzWrite(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		for _, format := range formats() {
			readsBack(t, format, []*op.Entry{e}, nil)
		}
	})
}
