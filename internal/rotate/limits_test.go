package rotate

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	state, err := f.Ready(len(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Reserve(len(text)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, text); err != nil {
		t.Fatal(err)
	}
	return state
}

// ending returns an Inspect that finds the given ending, whole up to a size.
func ending(end Ending, whole int64) Inspect {
	return func(io.ReaderAt, int64) (Ending, int64, error) { return end, whole, nil }
}

func TestFileEndings(t *testing.T) {
	for _, tt := range []struct {
		name    string
		inspect Inspect
		state   State
		want    string
		rotated int
	}{
		{"whole", ending(EndsWhole, 5), OtherFile, "beforeafter", 0},
		{"in a line", ending(EndsInLine, 5), OtherFileTorn, "beforeafter", 0},
		{"in a message", ending(EndsInMessage, 2), OtherFile, "beafter", 0},
		{"in a block", ending(EndsInBlock, 0), OtherFile, "after", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ops.jsonl")
			if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := Open(path, Limits{}, tt.inspect)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if state := write(t, f, "after"); state != tt.state {
				t.Errorf("state %v, want %v", state, tt.state)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != tt.want {
				t.Errorf("the file holds %q, %v, want %q", got, err, tt.want)
			}
			files, err := newNames(path).list()
			if err != nil || len(files) != tt.rotated {
				t.Errorf("rotated files %v, %v, want %d", files, err, tt.rotated)
			}
		})
	}
}

func TestFileRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	f, err := Open(path, Limits{MaxBytes: 10, MaxTotal: 20}, ending(EndsWhole, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var states []State
	for range 6 {
		states = append(states, write(t, f, "123456"))
	}
	for i, s := range states {
		if s != OtherFile {
			t.Errorf("write %d goes to the same file", i)
		}
	}
	if f.Deleted() != 3 {
		t.Errorf("%d files are deleted, want 3", f.Deleted())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if s := write(t, f, "1"); s != OtherFile {
		t.Error("a file that was removed is not created again")
	}
	if s := write(t, f, "2"); s != SameFile {
		t.Error("a small write goes to another file")
	}
}

func TestOpenRefuses(t *testing.T) {
	foreign := errors.New("foreign")
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	_, err := Open(path, Limits{}, func(io.ReaderAt, int64) (Ending, int64, error) { return 0, 0, foreign })
	if !errors.Is(err, foreign) {
		t.Errorf("a file that Inspect refuses: %v", err)
	}
	if _, err := Open(filepath.Dir(path), Limits{}, ending(EndsWhole, 0)); err == nil {
		t.Error("a directory is opened")
	}
}
