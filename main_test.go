package optrace_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails where a test leaves a goroutine behind. As a child process it
// records instead.
func TestMain(m *testing.M) {
	if path := os.Getenv(recordingChildFile); path != "" {
		os.Exit(recordAsChild(path, os.Getenv(recordingChildEnd)))
	}
	if config := os.Getenv(producerVariable); config != "" {
		os.Exit(produce(config))
	}
	goleak.VerifyTestMain(m)
}
