// Package random makes random operations for the property tests of package
// analyze and the packages below it.
package random

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/optrace/optrace/op"
)

// Entries returns n entries with few names, devices and ranks, many equal
// durations, and now and then a field that is missing.
func Entries(r *rand.Rand, n int) []op.Entry {
	entries := make([]op.Entry, n)
	for i := range entries {
		entries[i] = Entry(r, i)
	}
	return entries
}

// Entry returns the i-th of such entries.
func Entry(r *rand.Rand, i int) op.Entry {
	names := []string{"matmul", "relu", "AllReduce", "ncclDevKernel_AllReduce", "Memcpy HtoD (Host -> Device)", "memset"}
	e := op.Entry{
		Operation: names[r.IntN(len(names))],
		Duration:  int64(r.IntN(20)) * 100,
		SpanID:    op.SpanID{byte(i >> 16), byte(i >> 8), byte(i), 1},
		TraceID:   op.TraceID{byte(r.IntN(3)), 1},
	}
	e.Kind, e.KindRule = op.InferKind(e.Operation)
	if r.IntN(10) == 0 {
		e.Kind, e.KindRule = op.KindControl, op.RuleAttribute
	}
	if r.IntN(4) == 0 {
		e.Duration = r.Int64N(1 << uint(1+r.IntN(45)))
	}
	if r.IntN(8) > 0 {
		e.DeviceID = fmt.Sprintf("cuda:%d", r.IntN(3))
	}
	if r.IntN(3) > 0 {
		e.Rank = op.Known(int64(r.IntN(2)))
	}
	if r.IntN(6) > 0 {
		e.Start = op.Known(1_000_000_000 + int64(r.IntN(1_000_000)))
	}
	if r.IntN(5) == 0 {
		e.Side = op.SideHost
	}
	if r.IntN(3) > 0 {
		e.OutputShape = op.Shape{int64(r.IntN(3)), 4}
		e.OutputElements, _ = e.OutputShape.Elements()
		e.MemoryBytes = op.Known(e.OutputElements.V * 8)
		e.DType = op.F32
	}
	if r.IntN(4) == 0 {
		e.InputShapes = []op.Shape{{2, int64(r.IntN(2))}, nil}
		e.InputDTypes = []op.DType{op.F16, op.F32}
	}
	if r.IntN(30) == 0 {
		e.Duration, e.Warn = 0, op.WarnNegativeDuration
	}
	if r.IntN(20) == 0 {
		e.Failed, e.Error = true, []string{"out of memory", "", "timeout: \x1b[31m\u202e"}[i%3]
	}
	if r.IntN(15) == 0 {
		e.SpanID, e.TraceID = op.SpanID{}, op.TraceID{}
	}
	e.Step = op.Known(int64(i / 50))
	if e.FLOPs = op.Known(int64(r.IntN(1000))); r.IntN(3) == 0 {
		e.FLOPs = op.Int{}
	}
	if e.OutputShape != nil && r.IntN(2) == 0 { // of a matmul
		k := int64(r.IntN(3))
		e.InputShapes, e.InputDTypes = []op.Shape{{e.OutputShape[0], k}, {k, 4}}, nil
	}
	e.Root = []string{"", "GET /a", "GET /b"}[r.IntN(3)]
	e.Attrs = []op.Attr{{Key: "layer", Value: strconv.Itoa(r.IntN(4))}}
	return e
}
