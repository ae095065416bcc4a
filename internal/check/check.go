// Package check compares in tests. Only tests import it.
package check

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Equal fails the test, which goes on, if got is not want. what says what is compared, empty if the test does.
func Equal[T any](t testing.TB, what string, want, got T, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
