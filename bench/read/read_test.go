package read

import (
	"io"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
	"github.com/optrace/optrace/internal/cases"
)

// All readers of a format come to the same report, on every kind of data.
func TestReadersAgree(t *testing.T) {
	env := &measure.Env{Cache: t.TempDir(), Progress: io.Discard}
	for f, sides := range peers {
		sides = maps.Clone(sides)
		sides[ours], sides[oursTwice] = readOurs, readOursTwice
		for kind := range cases.Of(t, 1, workload.Kinds()) {
			file, err := workload.Get(t.Context(), env, f, workload.Config{Ops: 3000, Kind: kind})
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
					t.Errorf("%s, %s, %s (-one reader +another):\n%s", f, kind, name, diff)
				}
			}
			sum := ""
			for name, side := range newSides(f, file).Sides {
				s, err := side(t.Context())
				if err != nil || s.N != file.Spans || s.CPU <= 0 {
					t.Errorf("%s, %s, %s: %+v, %v", f, kind, name, s, err)
				}
				if sum == "" {
					sum = s.Sum
				}
				if s.Sum != sum {
					t.Errorf("%s, %s, %s: %s, others %s", f, kind, name, s.Sum, sum)
				}
			}
		}
	}
}

func TestWorkers(t *testing.T) {
	env := &measure.Env{Cache: t.TempDir(), Progress: io.Discard}
	var files []workload.File
	for _, f := range workload.Formats() {
		file, err := workload.Get(t.Context(), env, f, workload.Config{Ops: 2000, Kind: workload.G1})
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	sides := workerSides(files)
	var sums []string
	for _, name := range []string{ours, oursTwice} {
		s, err := sides[name](t.Context())
		if err != nil || s.N < 4*2000 || s.Wall <= 0 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		sums = append(sums, s.Sum)
	}
	if sums[0] != sums[1] {
		t.Errorf("one worker comes to %s, two to %s", sums[0], sums[1])
	}
}

// A reader that misses something is an error.
func TestReadingChecks(t *testing.T) {
	env := &measure.Env{Cache: t.TempDir(), Progress: io.Discard}
	file, err := workload.Get(t.Context(), env, workload.Entries, workload.Config{Ops: 100, Kind: workload.G1})
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(string) (*analyze.Report, error) { return analyze.ReportOn(newProfile()), nil }
	if _, err := timing(file, nothing)(t.Context()); err == nil {
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
