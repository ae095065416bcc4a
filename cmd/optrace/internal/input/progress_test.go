package input

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestProgressText(t *testing.T) {
	p := &progress{read: 3 << 20, total: 12 << 20}
	if got, want := p.text(2*time.Second), "read 3.00 MiB of 12.0 MiB, 25.0 %, 1.50 MiB/s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.total = 0
	if got, want := p.text(2*time.Second), "read 3.00 MiB, 1.50 MiB/s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSizeOf(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"a": 3, "b": 4} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, inputs := range map[int64][]string{
		7: {dir}, 10: {dir, filepath.Join(dir, "a")}, 0: {dir, "-"}, 4: {filepath.Join(dir, "b")},
	} {
		if got := sizeOf(inputs); got != want {
			t.Errorf("%q: %d bytes, want %d", inputs, got, want)
		}
	}
}
