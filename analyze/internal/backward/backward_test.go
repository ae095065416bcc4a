package backward_test

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/analyze/internal/backward"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// The operations in front of a reduction are its backward pass by their phase, or else the last two thirds of their
// time. A reduction behind another one has the same pass.
func TestOperationsOfABackwardPass(t *testing.T) {
	type operation struct {
		name, phase string
		ns          int64
	}
	products := func(phases ...string) (all []operation) {
		for i, phase := range phases {
			all = append(all, operation{fmt.Sprint(i), phase, 100})
		}
		return all
	}
	reduce := operation{"all_reduce", "", 50}
	for _, test := range []struct {
		name       string
		operations []operation
		// of each pass: its collectives, its first and last operation, those ready at a quarter and at a half
		want string
	}{
		{"by phase", append(products("forward", "backward", "backward", "backward", "Backward"), reduce), "1: 1-4 1 2"},
		{"another language", append(products("fwd", "fwd", "bwd", "bwd"), reduce), "1: 2-3 2 2"},
		{"two thirds", append(products("", "", "", "", "", ""), reduce), "1: 2-5 2 3"},
		{"several behind each other", append(products("", "", ""), reduce, reduce), "2: 1-2 1 1"},
		{
			"each step", append(append(products("", "", ""), reduce), append(products("", "backward"), reduce)...),
			"1: 1-2 1 1, 1: 1-1 1 1",
		},
		{"nothing before", []operation{reduce}, ""},
	} {
		f := trace.New()
		at := int64(0)
		var names []string
		for _, o := range test.operations {
			e := op.Entry{
				Operation: o.name, Kind: op.KindCompute, Phase: o.phase, DeviceID: "gpu:0", Start: op.Known(at),
				Duration: o.ns,
			}
			if o.name == "all_reduce" {
				e.Kind = op.KindCollective
			}
			names = append(names, o.name)
			f.Add(op.Record{Entry: &e})
			at += o.ns
		}
		f.Build()
		got := ""
		for _, p := range backward.Find(f, func(int32) bool { return true }) {
			if got != "" {
				got += ", "
			}
			name := func(r int32) string { return names[r] }
			last := p.Computed[len(p.Computed)-1]
			got += fmt.Sprintf("%d: %s-%s %s %s", len(p.Collectives), name(p.Computed[0]), name(last),
				name(p.Ready(0.25)), name(p.Ready(0.5)))
		}
		check.Equal(t, test.name, test.want, got)
	}
}
