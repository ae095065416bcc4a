package tracetest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"

	"github.com/optrace/optrace/op"
)

// RandomEntries returns n entries with few names, devices and ranks, many equal durations, and some missing fields.
func RandomEntries(r *rand.Rand, n int) []op.Entry {
	entries := make([]op.Entry, n)
	for i := range entries {
		entries[i] = RandomEntry(r, i)
	}
	return entries
}

// RandomEntry returns entry i of such entries.
func RandomEntry(r *rand.Rand, i int) op.Entry {
	names := []string{"matmul", "relu", "AllReduce", "ncclDevKernel_AllReduce", "Memcpy HtoD (Host -> Device)",
		"memset"}
	e := op.Entry{
		Operation: names[r.IntN(len(names))],
		Duration:  int64(r.IntN(20)) * 100,
		SpanID:    op.SpanID{byte(i >> 16), byte(i >> 8), byte(i), 1},
		TraceID:   op.TraceID{byte(r.IntN(3)), 1},
	}
	e.Kind, e.KindRule = op.InferKind(e.Operation)
	if r.IntN(10) == 0 {
		e.Kind = op.KindControl
		e.KindRule = op.RuleAttribute
	}
	if r.IntN(4) == 0 {
		e.Duration = r.Int64N(1 << uint(1+r.IntN(45)))
	}
	if r.IntN(8) > 0 {
		e.DeviceID = fmt.Sprintf("fpga:%d", r.IntN(3))
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
		e.Duration = 0
		e.Warn = op.WarnNegativeDuration
	}
	if r.IntN(20) == 0 {
		e.Failed = true
		e.Error = []string{"out of memory", "", "timeout: \x1b[31m\u202e"}[i%3]
	}
	if r.IntN(15) == 0 {
		e.SpanID = op.SpanID{}
		e.TraceID = op.TraceID{}
	}
	e.Step = op.Known(int64(i / 50))
	if e.FLOPs = op.Known(int64(r.IntN(1000))); r.IntN(3) == 0 {
		e.FLOPs = op.Int{}
	}
	if e.OutputShape != nil && r.IntN(2) == 0 { // of a matmul
		k := int64(r.IntN(3))
		e.InputShapes = []op.Shape{{e.OutputShape[0], k}, {k, 4}}
		e.InputDTypes = nil
	}
	e.Root = []string{"", "GET /a", "GET /b"}[r.IntN(3)]
	e.Attrs = []op.Attr{{Key: "layer", Value: strconv.Itoa(r.IntN(4))}}
	return e
}

// Requests yields n operations in requests of a hundred: spans above operations with four children each, on two devices.
func Requests(n int) iter.Seq[op.Record] {
	names := [...]string{"matmul", "relu", "softmax", "all_reduce", "Memcpy HtoD"}
	kinds := [...]op.Kind{op.KindCompute, op.KindCompute, op.KindCompute, op.KindCollective, op.KindMemory}
	id := func(i int) op.SpanID { return idOf(uint64(i+1) * 0x9e3779b97f4a7c15) } // spread over all values
	return func(yield func(op.Record) bool) {
		for i := range n {
			request := i / 100
			k := i % 100
			at := 1_700_000_000_000_000_000 + 120_000*int64(request)
			s := op.Span{
				Name: "POST /predict", Service: "inference", Start: op.Known(at), Duration: 100_000, SpanID: id(n + request),
				TraceID: op.TraceID{byte(request >> 16), byte(request >> 8), byte(request), 1},
			}
			e := op.Entry{
				Operation: names[k%5], Kind: kinds[k%5], DeviceID: []string{"cuda:0", "cuda:1"}[k/10%2],
				MemoryBytes: op.Known(4096), Step: op.Known(int64(request)), TraceID: s.TraceID, SpanID: id(i),
				ParentSpanID: id(i - k%5), Start: op.Known(at + 1000*int64(k)), Duration: 900,
			}
			if k%5 == 0 {
				e.ParentSpanID = s.SpanID
				e.Duration = 4900
			}
			if !yield(op.Record{Entry: &e}) || k == 99 && !yield(op.Record{Span: &s}) {
				return
			}
		}
	}
}
