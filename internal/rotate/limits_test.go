package rotate

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace/internal/check"
)

func TestLimitsValidate(t *testing.T) {
	for _, tt := range []struct {
		limits Limits
		want   string // of the error, "" for none
	}{
		{Limits{}, ""},
		{Limits{MaxBytes: 10, MaxAge: time.Hour, MaxTotal: 10}, ""},
		{Limits{MaxBytes: -1}, "file size -1 is negative"},
		{Limits{MaxAge: -1}, "file age -1ns is negative"},
		{Limits{MaxTotal: -1}, "total size -1 is negative"},
		{Limits{MaxTotal: 10}, "needs rotation by size"},
		{Limits{MaxBytes: 11, MaxTotal: 10}, "below the file size 11"},
	} {
		err := tt.limits.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.limits, err, tt.want)
		}
	}
}

// write writes text as a sink does and returns the state of the file before.
func write(t *testing.T, f *File, text string) State {
	t.Helper()
	state := check.Must(f.Ready(len(text)))(t)
	check.OK(t, f.Reserve(len(text)))
	check.Must(io.WriteString(f, text))(t)
	f.Release()
	return state
}

// ending returns an Inspect that finds the given ending in what is there first.
func ending(end Ending) Inspect {
	return func(_ io.ReaderAt, from, size int64) (Ending, int64, error) {
		if from > 0 || size == 0 {
			return EndsWhole, size, nil
		}
		return end, 0, nil
	}
}

func TestFileEndings(t *testing.T) {
	for _, tt := range []struct {
		name    string
		inspect Inspect
		state   State
		want    string
		rotated int
	}{
		{"whole", ending(EndsWhole), State{Other: true}, "beforeafter", 0},
		{"in a line", ending(EndsInLine), State{Other: true, Torn: true}, "beforeafter", 0},
		{"damaged", ending(EndsDamaged), State{Other: true}, "after", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ops.jsonl")
			check.OK(t, os.WriteFile(path, []byte("before"), 0o600))
			f := check.Must(Open(path, Limits{}, tt.inspect))(t)
			defer f.Close()
			if state := write(t, f, "after"); state != tt.state {
				t.Errorf("state %v, want %v", state, tt.state)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != tt.want {
				t.Errorf("the file holds %q, %v, want %q", got, err, tt.want)
			}
			files, err := newNames(path).list()
			if err != nil || len(files) != tt.rotated {
				t.Fatalf("rotated files %v, %v, want %d", files, err, tt.rotated)
			}
			for _, r := range files {
				if got, err := os.ReadFile(newNames(path).path(r.name)); err != nil || string(got) != "before" {
					t.Errorf("the renamed file holds %q, %v", got, err)
				}
			}
		})
	}
}

func TestFileRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	f := check.Must(Open(path, Limits{MaxBytes: 10, MaxTotal: 20}, ending(EndsWhole)))(t)
	defer f.Close()
	var states []State
	for range 6 {
		states = append(states, write(t, f, "123456"))
	}
	for i, s := range states {
		if !s.Other {
			t.Errorf("write %d goes to the same file", i)
		}
	}
	check.Equal(t, "files are deleted", 3, f.Deleted())
	check.OK(t, os.Remove(path))
	if s := write(t, f, "1"); !s.Other {
		t.Error("a file that was removed is not created again")
	}
	check.Equal(t, "a small write goes to another file", State{}, write(t, f, "2"))
}

func TestOpenRefuses(t *testing.T) {
	foreign := errors.New("foreign")
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	check.OK(t, os.WriteFile(path, []byte("notes"), 0o600))
	_, err := Open(path, Limits{}, func(io.ReaderAt, int64, int64) (Ending, int64, error) { return 0, 0, foreign })
	check.Is(t, "a file that Inspect refuses", foreign, err)
	if _, err := Open(filepath.Dir(path), Limits{}, ending(EndsWhole)); err == nil {
		t.Error("a directory is opened")
	}
}
