package cases_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

// The choices of these tests are not logged.
func TestMain(m *testing.M) {
	_ = os.Unsetenv("OPTRACE_CASES_LOG")
	os.Exit(m.Run())
}

func TestSome(t *testing.T) {
	for _, tt := range []struct {
		set         string
		few, total  int
		wantCount   int
		first, last int
	}{
		{"", 5, 100, 5, 0, 99},
		{"", 200, 100, 100, 0, 99},
		{"", 2, 2, 2, 0, 1},
		{"", 3, 0, 0, 0, 0},
		{"a hash", 5, 100, 5, 0, 99},
		{"all", 5, 100, 100, 0, 99},
	} {
		t.Setenv("OPTRACE_CASES", tt.set)
		got := slices.Collect(cases.Some(t, tt.few, tt.total))
		if len(got) != tt.wantCount || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("%+v: %v", tt, got)
		}
		if len(got) > 0 && (got[0] != tt.first || got[len(got)-1] != tt.last) {
			t.Errorf("%+v: from %d to %d", tt, got[0], got[len(got)-1])
		}
	}
}

// A seed repeats its choice, and many seeds choose all cases.
func TestSeedsChooseAll(t *testing.T) {
	seen := make(map[int]bool)
	for seed := range 200 {
		t.Setenv("OPTRACE_CASES", string(rune('a'+seed)))
		first := slices.Collect(cases.Some(t, 5, 100))
		if again := slices.Collect(cases.Some(t, 5, 100)); !slices.Equal(first, again) {
			t.Fatalf("%v, then %v", first, again)
		}
		for _, k := range first {
			seen[k] = true
		}
	}
	check.Equal(t, "of 100 cases were chosen by 200 seeds", 100, len(seen))
}

func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	t.Setenv("OPTRACE_CASES", "")
	t.Setenv("OPTRACE_CASES_LOG", path)
	cases.Count(t, 5, 100)
	cases.Count(t, 100, 100) // all of them are not logged
	check.Equal(t, "", "5 100 cases TestLog\n", string(check.Must(os.ReadFile(path))(t)))
}
