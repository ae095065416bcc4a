//go:build unix

package optrace_test

import (
	"os"
	"syscall"
	"testing"
)

// lockFile locks the file at path as another process does that is writing to it.
func lockFile(t *testing.T, path string) (unlock func()) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Skip("no locks:", err)
	}
	return func() { _ = f.Close() }
}
