package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// The files of two ranks make one report. A line of the second file is damaged.
func Example() {
	inputs := []string{filepath.Join("testdata", "rank0.jsonl"), filepath.Join("testdata", "rank1.jsonl")}
	if err := run(inputs, os.Stdout, io.Discard); err != nil {
		fmt.Println(err)
	}
	// Output:
	// operation    count  total   mean   share
	// matmul       8      2.25ms  281µs  64.4 %
	// all_reduce   4      880µs   220µs  25.2 %
	// Memcpy HtoD  4      160µs   40µs   4.6 %
	// sgd_update   4      120µs   30µs   3.4 %
	// relu         4      48µs    12µs   1.4 %
	//
	// 2 devices, the busiest 7.2 % above the mean
	// 0/cuda:0  1.621ms
	// 1/cuda:0  1.871ms
}

func TestRunTellsOfDamagedLines(t *testing.T) {
	var out, errs bytes.Buffer
	path := filepath.Join("testdata", "rank1.jsonl")
	check.OK(t, run([]string{path}, &out, &errs))
	want := "skipped: " + path + ":6: "
	if !strings.HasPrefix(errs.String(), want) || strings.Count(errs.String(), "\n") != 1 {
		t.Errorf("errors %q, want one line that starts with %q", errs.String(), want)
	}
	if want := "fewer than two devices"; !strings.Contains(out.String(), want) {
		t.Errorf("output lacks %q:\n%s", want, out.String())
	}
}

func TestRunFailsOnMissingFiles(t *testing.T) {
	check.Says(t, "", "", run([]string{filepath.Join(t.TempDir(), "missing")}, &bytes.Buffer{}, &bytes.Buffer{}))
}
