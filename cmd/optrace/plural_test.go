package main

import (
	"regexp"
	"testing"

	"github.com/optrace/optrace/internal/testing/cases"
)

// Texts about one thing are in the singular.
func TestOneIsSingular(t *testing.T) {
	plural := regexp.MustCompile(`(?m)^.*(?:^|[ (])1 (?:[a-z]+ )?(?:operations|spans|entries|requests|others|steps|records|` +
		`files|tests|devices|times|streams|calls|links|products|runs|batches)\b.*$`)
	files := filesBelow(t, "testdata/figures", ".jsonl")
	for path := range cases.Of(t, 20, files) {
		for _, args := range [][]string{
			{"report", "-section", "all"}, {"report"}, {"doctor"}, {"correlate"}, {"diff", path},
		} {
			_, out, errs := ran(t, append(args, path)...)
			if wrong := plural.FindString(out + errs); wrong != "" {
				t.Errorf("%v %s: %q", args, path, wrong)
			}
		}
	}
}
