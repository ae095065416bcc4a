//go:build !unix

package optrace_test

import "testing"

func lockFile(t *testing.T, _ string) (unlock func()) {
	t.Skip("there are no such locks here")
	return nil
}
