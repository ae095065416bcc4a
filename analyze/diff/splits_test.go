package diff_test

import (
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/recordtest"
	"github.com/optrace/optrace/op"
)

// recording returns the operations of testdata/quickstart.jsonl.zst: those of one device
// of examples/quickstart, trained for 300 steps on a busy machine.
func recording(t *testing.T) (entries []*op.Entry) {
	t.Helper()
	for rec, err := range ingest.Open("testdata/quickstart.jsonl.zst").Records() {
		check.OK(t, err)
		if rec.Entry != nil {
			entries = append(entries, rec.Entry.Clone())
		}
	}
	if len(entries) != 8400 {
		t.Fatalf("%d operations in the recording", len(entries))
	}
	return entries
}

// analyzed returns the report on operations.
func analyzed(t *testing.T, entries []*op.Entry, by []key.Key) *analyze.Report {
	t.Helper()
	records := recordtest.Entries(entries...)
	return check.Must(analyze.Run(t.Context(), analyze.Records(records), diff.ReportOptions(by)))(t)
}

// run returns the run of operations.
func run(t *testing.T, name string, entries []*op.Entry, single bool) *diff.Run {
	t.Helper()
	return check.Must(diff.NewRun(name, analyzed(t, entries, nil), nil, single))(t)
}

// split divides the steps of a recording between two sides at random, and makes the
// operations of one name slower in the second.
func split(entries []*op.Entry, rng *rand.Rand, slower string, factor float64) (sides [2][]*op.Entry) {
	steps := rng.Perm(300)
	for _, e := range entries {
		side := steps[e.Step.V] % 2
		if side == 1 && e.Operation == slower {
			c := *e
			c.Duration = int64(float64(c.Duration) * factor)
			e = &c
		}
		sides[side] = append(sides[side], e)
	}
	return sides
}

func compare(t *testing.T, sides [2][]*op.Entry) *diff.Report {
	t.Helper()
	base, head := run(t, "base", sides[0], true), run(t, "head", sides[1], true)
	return check.Must(diff.Compare([]*diff.Run{base}, []*diff.Run{head}, diff.Options{}))(t)
}

// found returns the names of the rows and parts that changed.
func found(r *diff.Report) (names []string) {
	changed := func(c *diff.Comparison) bool {
		return c.Verdict.Changed() || c.Verdict == diff.Added || c.Verdict == diff.Removed
	}
	for i := range r.Rows {
		if changed(&r.Rows[i].Comparison) {
			names = append(names, string(r.Rows[i].Verdict)+" "+r.Rows[i].Key.String())
		}
	}
	for i := range r.Parts {
		if changed(&r.Parts[i].Comparison) {
			names = append(names, string(r.Parts[i].Verdict)+" "+r.Parts[i].Part)
		}
	}
	return names
}

// Two halves of one run differ by chance only: at most five in a hundred comparisons may
// find anything.
func TestSplitsOfOneRun(t *testing.T) {
	entries := recording(t)
	splits := cases.Count(t, 10, 200)
	alarms := 0
	for seed := range uint64(splits) {
		r := compare(t, split(entries, rand.New(rand.NewPCG(seed, 0)), "", 1))
		if names := found(r); len(names) > 0 {
			alarms++
			t.Logf("split %d: %v", seed, names)
		}
		if r.Unit != diff.UnitSteps || r.Tests < 10 {
			t.Fatalf("unit %s, %d tests", r.Unit, r.Tests)
		}
	}
	if alarms > max(1, splits*5/100) {
		t.Errorf("%d of %d comparisons find something", alarms, splits)
	}
}
