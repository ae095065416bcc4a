package optrace_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/optrace/optrace/internal/producer"
)

// TestMain fails where a test leaves a goroutine behind. As a child process it
// records instead.
func TestMain(m *testing.M) {
	if path := os.Getenv(recordingChildFile); path != "" {
		os.Exit(recordAsChild(path, os.Getenv(recordingChildEnd)))
	}
	producer.Main()
	goleak.VerifyTestMain(m)
}
