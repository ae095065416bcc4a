package main

import (
	"os"
	"path/filepath"
)

// The files of two ranks make one report. A line of the second file is damaged.
func Example() {
	os.Args = []string{"offline", filepath.Join("testdata", "rank0.jsonl"), filepath.Join("testdata", "rank1.jsonl")}
	main()
	// Output:
	// matmul       8 times, 2250000 ns, 64.4 %
	// all_reduce   4 times, 880000 ns, 25.2 %
	// Memcpy HtoD  4 times, 160000 ns, 4.6 %
	// sgd_update   4 times, 120000 ns, 3.4 %
	// relu         4 times, 48000 ns, 1.4 %
}
