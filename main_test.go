package optrace_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails where a test leaves a goroutine behind. As a child process of
// TestKilledProcess it records instead, until it is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv(recordingChildFile); path != "" {
		os.Exit(recordAsChild(path, os.Getenv(recordingChildEnd)))
	}
	goleak.VerifyTestMain(m)
}
