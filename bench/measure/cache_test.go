package measure

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// An entry of the cache is whole or missing, and made once.
func TestPreparedIsAtomic(t *testing.T) {
	e := &Env{Cache: filepath.Join(t.TempDir(), "not", "there", "yet")}
	failing := errors.New("no disk")
	made := 0
	for i, tt := range []struct {
		build error
		made  int
		left  int
	}{{failing, 1, 0}, {nil, 2, 1}, {nil, 2, 1}} {
		path, err := e.Prepared("entry", func(path string) error {
			made++
			return errors.Join(os.WriteFile(path, []byte("whole"), 0o644), tt.build)
		})
		text, _ := os.ReadFile(path)
		if !errors.Is(err, tt.build) || (err == nil) != (string(text) == "whole") || made != tt.made {
			t.Errorf("%d: %v, made %d times", i, err, made)
		}
		if found, err := os.ReadDir(e.Cache); err != nil || len(found) != tt.left {
			t.Errorf("%d: %v is left behind (%v)", i, found, err)
		}
	}
}
