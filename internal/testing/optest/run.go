package optest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/op"
)

// Run runs every case as a subtest. convert turns the span of a case into an
// entry, or returns false where the span is no operation; it skips the test
// where its format lacks something that the case needs. Marks that a format puts on
// all of its entries, such as op.WarnMicroseconds, and the root, which is no
// part of a span, are for convert to remove.
func Run(t *testing.T, convert func(t *testing.T, c Case) (*op.Entry, bool)) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			got, ok := convert(t, c)
			if !ok {
				got = nil
			}
			if diff := cmp.Diff(c.Want, got); diff != "" {
				t.Fatalf("entry (-want +got):\n%s", diff)
			}
			if got == nil {
				return
			}
			if err := got.Validate(); err != nil {
				t.Errorf("the entry is not valid: %v", err)
			}
		})
	}
}
