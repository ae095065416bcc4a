package input

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/optrace/optrace/internal/testing/check"
)

func TestProgressText(t *testing.T) {
	p := &progress{read: 3 << 20, total: 12 << 20}
	check.Equal(t, "", "read 3.00 MiB of 12.0 MiB, 25.0 %, 1.50 MiB/s", p.text(2*time.Second))
	p.total = p.read
	check.Equal(t, "", "read 3.00 MiB, 100 %, now analysing", p.text(2*time.Second))
	p.total = 0
	check.Equal(t, "", "read 3.00 MiB, 1.50 MiB/s", p.text(2*time.Second))
}

func TestSizeOf(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"a": 3, "b": 4} {
		check.OK(t, os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600))
	}
	for want, inputs := range map[int64][]string{
		7: {dir}, 10: {dir, filepath.Join(dir, "a")}, 0: {dir, "-"}, 4: {filepath.Join(dir, "b")},
	} {
		check.Equal(t, fmt.Sprintf("%q: bytes", inputs), want, sizeOf(inputs))
	}
}
