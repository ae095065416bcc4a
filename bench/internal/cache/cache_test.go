package cache

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	made := 0
	build := func(path string) error {
		made++
		return os.WriteFile(path, []byte("whole"), 0o644)
	}
	whole := func(path string) error {
		if text, err := os.ReadFile(path); err != nil || string(text) != "whole" {
			return errors.New("damaged")
		}
		return nil
	}
	get := func(wantMade int) {
		t.Helper()
		path, err := Get(dir, "entry", whole, build)
		if err != nil {
			t.Fatal(err)
		}
		if err := whole(path); err != nil || made != wantMade {
			t.Errorf("%v, made %d times, want %d", err, made, wantMade)
		}
		found, err := os.ReadDir(dir)
		if err != nil || len(found) != 1 {
			t.Errorf("%v is left behind (%v)", found, err)
		}
	}
	get(1)
	get(1) // there already
	if err := os.WriteFile(filepath.Join(dir, "entry"), []byte("who"), 0o644); err != nil {
		t.Fatal(err)
	}
	get(2) // was damaged
}

func TestGetDirectories(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second time over one that is not valid
		path, err := Get(dir, "entry", func(string) error { return errors.New("never good enough") }, func(path string) error {
			if err := os.Mkdir(path, 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(path, "file"), nil, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(path, "file")); err != nil {
			t.Error(err)
		}
	}
}

func TestGetFails(t *testing.T) {
	dir, failing := t.TempDir(), errors.New("no disk")
	_, err := Get(dir, "entry", nil, func(path string) error {
		return errors.Join(os.WriteFile(path, []byte("half"), 0o644), failing)
	})
	if !errors.Is(err, failing) {
		t.Errorf("error %v", err)
	}
	left, err := os.ReadDir(dir)
	if diff := cmp.Diff(0, len(left)); diff != "" || err != nil {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestDefault(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	if dir, err := Default(); err != nil || filepath.Base(dir) != "optrace-bench" {
		t.Errorf("%s, %v", dir, err)
	}
}
