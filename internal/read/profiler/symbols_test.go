package profiler

import (
	"cmp"
	"slices"
	"testing"
)

func TestSymbols(t *testing.T) {
	var s Symbols
	a := s.Add([]byte("a"))
	b := s.Add([]byte("b"))
	again := s.Add([]byte("a"))
	if a == b || a != again || s.Add(nil) != 0 || s.Text(a) != "a" || s.Text(b) != "b" || s.Text(0) != "" {
		t.Errorf("numbers %d %d %d, texts %q", a, b, again, s.texts)
	}
	if !slices.IsSortedFunc(s.texts, cmp.Compare[string]) || s.bytes == 0 {
		t.Errorf("texts %q, %d bytes", s.texts, s.bytes)
	}
}
