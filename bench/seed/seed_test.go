package seed

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/internal/cases"
)

// Both of ours find the same, in entries that have all that tells them apart.
func TestColumnsAndEntriesAgree(t *testing.T) {
	held := newColumns(5000)
	a, b := ofColumns(held).lines(held), ofEntries(newTrace(5000)).lines(held)
	if err := sameLines(a, b); err != nil {
		t.Error(err)
	}
	text := strings.Join(a, "\n")
	for _, want := range []string{"operation matmul ", "device cuda:7 ", "communication all_gather ", "trace;unknown;relu ", "slowest "} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing starts with %q", want)
		}
	}
}

func TestSameLines(t *testing.T) {
	a, b := []string{"a"}, []string{"b"}
	if sameLines(a, a) != nil || sameLines(a, b) == nil || sameLines(nil, a) == nil {
		t.Error("lines are not told apart")
	}
}

// The Rust program finds what we find.
func TestRust(t *testing.T) {
	cases.Rare(t)
	if _, err := exec.LookPath("rustc"); err != nil {
		t.Skip("no Rust compiler")
	}
	env := &measure.Env{Cache: t.TempDir(), Progress: io.Discard}
	path, err := build(t.Context(), env)
	if unavailable := (*measure.UnavailableError)(nil); errors.As(err, &unavailable) {
		t.Skip("the Rust program cannot be built:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	open, err := newSides(t.Context(), path, 2000, measure.Want{rust: true, columns: true, entries: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, side := range open.Sides {
		if s, err := side(t.Context()); err != nil || s.Wall <= 0 || s.N == 0 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	values, err := open.After(t.Context())
	if err != nil || len(values) != numAnalyses {
		t.Errorf("%v, %v", values, err)
	}
	if err := open.Close(); err != nil {
		t.Error(err)
	}
}
