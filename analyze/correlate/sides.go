package correlate

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// sides finds the sides with an operation or span.
type sides struct {
	// localRows is the number of rows of the local batch. The backend's rows follow.
	localRows int
	// held marks rows of the local batch also held by the backend. asked reports whether there is a backend.
	held  []bool
	asked bool
}

// newSides returns the sides of a forest with localRows rows of the local batch in front.
func newSides(f *trace.Forest, localRows int, asked bool) *sides {
	f.Build()
	s := &sides{localRows: localRows, held: make([]bool, localRows), asked: asked || f.Len() > localRows}
	for r := int32(localRows); r < f.Rows(); r++ {
		if f.Has(r, trace.FlagDuplicate) && int(f.Tree.Originals[r]) < localRows {
			s.held[f.Tree.Originals[r]] = true
		}
	}
	return s
}

func (s *sides) hasLocal() bool { return s.localRows > 0 }

func (s *sides) inLocal(n trace.Node) bool { return n.Index() < s.localRows }

func (s *sides) inJaeger(n trace.Node) bool { return !s.inLocal(n) || s.held[n.Index()] }

type prunedKey struct{ operation, device string }

// compareOps counts the operations of a request missing on one side. Summarised operations are not missing in Jaeger. It
// does not count summarised operations twice if the local batch has them.
func (s *sides) compareOps(r *Request, ops iter.Seq[trace.Node], summaries []op.Pruned) {
	lacking := make(map[prunedKey]int64) // in Jaeger
	for n := range ops {
		r.Ops++
		switch {
		case !s.inLocal(n):
			r.MissingOpsLocally++
		case s.asked && !s.inJaeger(n):
			lacking[prunedKey{n.Name(), n.Device().DeviceID}]++
			r.MissingInJaeger++
		}
	}
	// The summary row for all other operations comes last, and explains the remaining operations.
	inOrder := slices.Clone(summaries)
	slices.SortStableFunc(inOrder, func(a, b op.Pruned) int { return rest(a) - rest(b) })
	for _, p := range inOrder {
		explained := r.explain(lacking, p)
		r.Pruned.Count += p.Count
		r.Pruned.SumNS += p.Duration
		r.Pruned.NotHeld += p.Count - explained
	}
	r.Ops += r.Pruned.NotHeld
	r.MissingOpsLocally += r.Pruned.NotHeld
	if !s.hasLocal() {
		r.MissingOpsLocally = 0
	}
}

// rest returns 1 for the summary's row of all other operations, else 0.
func rest(p op.Pruned) int {
	if p.Operation == attrkey.PrunedOthers {
		return 1
	}
	return 0
}

// explain removes the operations summarised by p from the operations missing in Jaeger, and returns their number.
func (r *Request) explain(lacking map[prunedKey]int64, p op.Pruned) (explained int64) {
	if rest(p) == 0 {
		k := prunedKey{p.Operation, p.DeviceID}
		if p.DeviceID == "" {
			k.device = device.Unknown
		}
		explained = min(p.Count, lacking[k])
		lacking[k] -= explained
	} else {
		explained = min(p.Count, r.MissingInJaeger)
	}
	r.MissingInJaeger -= explained
	return explained
}
