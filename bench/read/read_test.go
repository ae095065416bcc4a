package read

import (
	"io"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/bench/internal/data"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
)

// All readers of a format come to the same report.
func TestReadersAgree(t *testing.T) {
	env := &measure.Env{Cache: t.TempDir(), Progress: io.Discard}
	for f, sides := range peers {
		sides = maps.Clone(sides)
		sides[ours], sides[oursTwice] = readOurs, readOursTwice
		for _, mix := range []workload.Mix{workload.G512, workload.G1, workload.Random} {
			file, err := data.Get(env, f, workload.Config{Ops: 3000, Mix: mix})
			if err != nil {
				t.Fatal(err)
			}
			var want *analyze.Report
			for name, read := range sides {
				rep, err := read(file.Path)
				if err != nil {
					t.Fatalf("%s, %s: %v", f, name, err)
				}
				rep.Input = analyze.Envelope{}
				if want == nil {
					want = rep
				}
				if diff := cmp.Diff(want, rep); diff != "" {
					t.Errorf("%s, %s, %s (-one reader +another):\n%s", f, mix, name, diff)
				}
			}
			open := newSides(f, file, file)
			for name, side := range open.Sides {
				if s, err := side(t.Context()); err != nil || s.N != file.Spans || s.CPU <= 0 {
					t.Errorf("%s, %s: %+v, %v", f, name, s, err)
				}
			}
			if err := open.Check(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestWorkers(t *testing.T) {
	env := &measure.Env{Cache: t.TempDir(), Progress: io.Discard}
	sides, err := workerSides(env, 2000)
	if err != nil {
		t.Fatal(err)
	}
	var sums []string
	for _, name := range []string{ours, oursTwice} {
		s, err := sides[name](t.Context())
		if err != nil || s.N < 3*2000 || s.Wall <= 0 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		sums = append(sums, s.Sum)
	}
	if sums[0] != sums[1] {
		t.Errorf("one worker comes to %s, two to %s", sums[0], sums[1])
	}
}

// A reader that misses something is found out.
func TestReadingChecks(t *testing.T) {
	env := &measure.Env{Cache: t.TempDir(), Progress: io.Discard}
	file, err := data.Get(env, workload.Entries, workload.Config{Ops: 100, Mix: workload.G1})
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(string) (*analyze.Report, error) { return report(newProfile()), nil }
	if _, err := timing(file, nothing, new(string))(t.Context()); err == nil {
		t.Error("no operations at all are no error")
	}
}

func TestID(t *testing.T) {
	dst := make([]byte, 4)
	for text, ok := range map[string]bool{"00ff7a9b": true, "00ff7a9": false, "00ff7a9b0": false, "00fg7a9b": false, "00FF7A9B": false} {
		if err := id(dst, text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := id(dst, "00ff7a9b"); err != nil || string(dst) != "\x00\xff\x7a\x9b" {
		t.Errorf("%x, %v", dst, err)
	}
}
