package clickhouse

import (
	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/op"
)

// setWork sets the columns of what an operation computed and moved, as package
// analyze finds it: FLOPs as recorded or else as they follow from name and shapes,
// bytes where FLOPs are known.
func (r *row) setWork(e *op.Entry) {
	w := flops.Of(e)
	r.WorkFLOPs = nullable(e.FLOPs)
	if !e.FLOPs.Known && w.FLOPs.Known {
		r.WorkFLOPs, r.WorkDerived = nullable(w.FLOPs), 1
	}
	if r.WorkFLOPs != nil {
		r.MovedBytes = nullable(w.Bytes)
	}
}
