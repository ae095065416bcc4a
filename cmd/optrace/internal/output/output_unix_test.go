//go:build unix

package output

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/internal/testing/check"
)

// A named pipe without a reader as output does not keep a command from ending.
func TestSignalWhileOpening(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	check.OK(t, syscall.Mkfifo(pipe, 0o600))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if err := Produce(ctx, streams.Streams{}, pipe, nil, nil); err == nil || err.Error() != "enough" {
		t.Errorf("Produce = %v, want the cause", err)
	}
}
