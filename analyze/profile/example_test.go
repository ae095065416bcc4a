package profile_test

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/op"
)

// Profiles of parts of an input, such as the shards of a live profile, merge to
// the profile of all of it.
func ExampleProfile_Merge() {
	entries := []op.Entry{
		{Operation: "matmul", Duration: 300},
		{Operation: "relu", Duration: 50},
		{Operation: "matmul", Duration: 500},
		{Operation: "relu", Duration: 70},
	}
	opts := profile.Options{Top: 1}
	first, second := profile.New(opts), profile.New(opts)
	for i := range entries[:2] {
		first.Add(&entries[i])
		second.Add(&entries[2+i])
	}
	first.Merge(second)
	r := first.Sums()
	for _, row := range r.Operations {
		fmt.Printf("%s: %d times, mean %g ns, p50 %g ns, std %.1f ns\n", row.Operation, row.Count, row.MeanNS, row.P50NS.V, row.StdNS.V)
	}
	fmt.Println("slowest:", r.Slowest[0].Operation, r.Slowest[0].Duration, "ns")
	// Output:
	// matmul: 2 times, mean 400 ns, p50 300 ns, std 141.4 ns
	// relu: 2 times, mean 60 ns, p50 50 ns, std 14.1 ns
	// slowest: matmul 500 ns
}

// Entries can be grouped by anything they carry, attributes included.
func ExampleOptions() {
	keys, err := key.Parse("operation,attr:tenant")
	if err != nil {
		fmt.Println(err)
		return
	}
	p := profile.New(profile.Options{By: keys})
	for _, e := range []op.Entry{
		{Operation: "matmul", Duration: 300, Attrs: []op.Attr{{Key: "tenant", Value: "blue"}}},
		{Operation: "matmul", Duration: 500, Attrs: []op.Attr{{Key: "tenant", Value: "green"}}},
		{Operation: "matmul", Duration: 100},
		{Operation: "matmul", Duration: 300, Attrs: []op.Attr{{Key: "tenant", Value: "blue"}}},
	} {
		p.Add(&e)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, g := range p.Sums().Groups {
		fmt.Fprintf(w, "%s\t%d\t%d ns\n", g.Key, g.Count, g.SumNS)
	}
	w.Flush()
	// Output:
	// matmul, blue     2  600 ns
	// matmul, green    1  500 ns
	// matmul, unknown  1  100 ns
}
