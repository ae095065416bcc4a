package optest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/op"
)

// Run runs every case as a subtest. convert turns the span of a case into an entry, or returns false if
// the span is no operation. It skips the test if its format lacks a need of the case. convert removes the
// root and warnings of its format, such as op.WarnMicroseconds.
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
