package profile_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/op"
)

// Profiles of parts of an input, such as the shards of a live profile, merge to the profile of the whole.
func ExampleProfile_Merge() {
	entries := []op.Entry{
		{Operation: "matmul", Duration: 300},
		{Operation: "relu", Duration: 50},
		{Operation: "matmul", Duration: 500},
		{Operation: "relu", Duration: 70},
	}
	opts := profile.Options{Top: 1}
	first := profile.New(opts)
	second := profile.New(opts)
	for i := range entries[:2] {
		first.Add(&entries[i])
		second.Add(&entries[2+i])
	}
	first.Merge(second)
	r := first.Sums()
	for _, row := range r.Operations {
		fmt.Printf("%s: %d times, mean %g ns, p50 %g ns, std %.1f ns\n", row.Operation, row.Count, row.MeanNS,
			row.P50NS.V, row.StdNS.V)
	}
	fmt.Println("slowest:", r.Slowest[0].Operation, r.Slowest[0].Duration, "ns")
	// Output:
	// matmul: 2 times, mean 400 ns, p50 300 ns, std 141.4 ns
	// relu: 2 times, mean 60 ns, p50 50 ns, std 14.1 ns
	// slowest: matmul 500 ns
}
