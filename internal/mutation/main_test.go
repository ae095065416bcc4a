package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/check"
)

func TestReadMutants(t *testing.T) {
	const list = `Starting...
    RUNNABLE CONDITIONALS_NEGATION at b.go:3:11
    RUNNABLE CONDITIONALS_BOUNDARY at b.go:3:11
 NOT COVERED ARITHMETIC_BASE at a.go:101:22
    RUNNABLE ARITHMETIC_BASE at a.go:46:59
    RUNNABLE INVERT_NEGATIVES at a.go:46:59
    RUNNABLE ARITHMETIC_BASE at sub/a.go:1:1

Dry run completed in 349 milliseconds
`
	got := check.Must(readMutants(strings.NewReader(list), regexp.MustCompile(`^[^/]+\.go$`)))(t)
	want := []mutant{
		{"a.go", 46, 59, "ARITHMETIC_BASE"}, {"b.go", 3, 11, "CONDITIONALS_BOUNDARY"}, {"b.go", 3, 11, "CONDITIONALS_NEGATION"},
	}
	check.Equal(t, "mutants", want, got, cmp.AllowUnexported(mutant{}))
	for n, most := range map[int]int{0: 3, 2: 2, 5: 3} {
		if chosen := choose(want, n, 1); len(chosen) != most {
			t.Errorf("%d of 3 mutants are %d", n, len(chosen))
		}
	}
}

func TestApply(t *testing.T) {
	const source = "package p\n\nvar a = b <= c - -d%e\n"
	for _, tt := range []struct {
		kind   string
		column int
		want   string
	}{
		{"CONDITIONALS_BOUNDARY", 11, "b < c - -d%e"},
		{"CONDITIONALS_NEGATION", 11, "b > c - -d%e"},
		{"ARITHMETIC_BASE", 16, "b <= c + -d%e"},
		{"INVERT_NEGATIVES", 18, "b <= c - +d%e"},
		{"ARITHMETIC_BASE", 20, "b <= c - -d*e"},
		{"ARITHMETIC_BASE", 19, ""},
		{"INCREMENT_DECREMENT", 100, ""},
	} {
		got, err := mutant{"p.go", 3, tt.column, tt.kind}.apply([]byte(source))
		if tt.want == "" {
			if err == nil {
				t.Errorf("%s at %d gives %q", tt.kind, tt.column, got)
			}
			continue
		}
		if want := "package p\n\nvar a = " + tt.want + "\n"; err != nil || string(got) != want {
			t.Errorf("%s at %d gives %q, %v, want %q", tt.kind, tt.column, got, err, want)
		}
	}
}
