package measure

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace/internal/check"
)

// What is prepared is there as a whole or not at all, and made again where it is damaged.
func TestPrepared(t *testing.T) {
	e := &Env{Cache: filepath.Join(t.TempDir(), "not", "there", "yet")}
	whole := func(path string) error {
		if text, err := os.ReadFile(path); err != nil || string(text) != "whole" {
			return errors.New("damaged")
		}
		return nil
	}
	failing := errors.New("no disk")
	made := 0
	for i, tt := range []struct {
		damage string
		build  error
		made   int
		left   int
	}{
		{"", failing, 1, 0}, {"", nil, 2, 1}, {"", nil, 2, 1}, {"who", nil, 3, 1},
	} {
		if tt.damage != "" {
			check.OK(t, os.WriteFile(filepath.Join(e.Cache, "entry"), []byte(tt.damage), 0o644))
		}
		path, err := e.Prepared("entry", whole, func(path string) error {
			made++
			return errors.Join(os.WriteFile(path, []byte("whole"), 0o644), tt.build)
		})
		if !errors.Is(err, tt.build) || err == nil && whole(path) != nil || made != tt.made {
			t.Errorf("%d: %v, made %d times", i, err, made)
		}
		if found, err := os.ReadDir(e.Cache); err != nil || len(found) != tt.left {
			t.Errorf("%d: %v is left behind (%v)", i, found, err)
		}
	}
}
