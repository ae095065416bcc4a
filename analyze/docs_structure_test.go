package analyze

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// blockWriters write the expected text of a block in docs/analyses.md.
var blockWriters = map[string]func(*testing.T, []op.Record, io.Writer){
	"requests": documentedRequests,
	"shared":   documentedShared,
	"collapsed": func(t *testing.T, records []op.Record, w io.Writer) {
		check.OK(t, stacks.WriteForest(forestOf(records), w))
	},
	"collapsed-flat": func(t *testing.T, records []op.Record, w io.Writer) {
		var flat seed.Stacks
		for _, rec := range records {
			if rec.Entry != nil {
				flat.Add(rec.Entry)
			}
		}
		check.OK(t, flat.Write(w))
	},
}

func forestOf(records []op.Record) *trace.Forest {
	forest := trace.New()
	for _, rec := range records {
		forest.Add(rec)
	}
	return forest
}

func documentedRequests(_ *testing.T, records []op.Record, w io.Writer) {
	all := requests.Find(forestOf(records))
	for i := range all.List {
		r := &all.List[i]
		fmt.Fprintf(w, "%s: start %v, duration %v, ops %d, uncovered %v, queueing %v\n",
			r.Name, r.StartNS, r.DurationNS, r.Ops(), r.UncoveredNS, r.QueueingNS)
	}
	fmt.Fprintf(w, "unattached: %d\n", len(slices.Collect(all.Unattached())))
}

func documentedShared(_ *testing.T, records []op.Record, w io.Writer) {
	forest := forestOf(records)
	all := requests.Find(forest)
	for i := range all.List {
		r := &all.List[i]
		fmt.Fprintf(w, "%s: own %d, shared %d in %d ops, uncovered %v, queueing %v\n",
			r.Name, r.OwnNS, r.SharedNS, r.SharedOps, r.UncoveredNS, r.QueueingNS)
		for _, s := range path.Of(forest, r.Root).Segments {
			fmt.Fprintf(w, "  %s [%d,%d)\n", s.Node.Name(), s.StartNS, s.StartNS+s.DurationNS)
		}
	}
	for i := range all.Shared {
		e := &all.Shared[i]
		fmt.Fprintf(w, "%s: %d links, %d requests, %d ops, sum %d", e.Name, e.Links, e.Requests, e.Ops(), e.SumNS)
		if e.DroppedLinks > 0 {
			fmt.Fprintf(w, ", unlinked %d", e.UnlinkedNS)
		}
		fmt.Fprintln(w)
	}
}
