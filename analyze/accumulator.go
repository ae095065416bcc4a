package analyze

import (
	"bytes"
	"math/bits"

	"github.com/optrace/optrace/op"
)

// accumulator adds up the statistics of a group of entries. The zero value is
// ready to use.
type accumulator struct {
	count, errors           int64
	min, max                int64
	sum, squares            wide
	elements, memory, flops wide
	durations               sketch
	kinds                   uint8 // a bit per op.Kind
	slowest                 Exemplar
	variety                 variety
	weighted                *weighted // nil while no entry carries a weight
}

func (a *accumulator) add(e *op.Entry) {
	d := e.Duration
	if d >= a.max || a.count == 0 {
		a.offerSlowest(d, e.TraceID, e.SpanID)
	}
	if d < a.min || a.count == 0 {
		a.min = d
	}
	a.count++
	a.sum.add(d)
	a.squares.addSquare(d)
	a.elements.add(e.OutputElements.V)
	a.memory.add(e.MemoryBytes.V)
	a.flops.add(e.FLOPs.V)
	if e.Failed {
		a.errors++
	}
	if e.Warn&op.WarnNegativeDuration == 0 {
		a.durations.add(d)
	}
	a.kinds |= 1 << e.Kind
	a.variety.add(e)
	if e.AdjustedCount > 0 {
		if a.weighted == nil {
			a.weighted = new(weighted)
		}
		a.weighted.add(e.AdjustedCount, d)
	}
}

// offerSlowest raises the maximum to d and keeps the ids that come with it.
// Among several of the same duration the smallest ids win, whatever the order;
// none at all are the largest.
func (a *accumulator) offerSlowest(d int64, trace op.TraceID, span op.SpanID) {
	switch {
	case a.count == 0 || d > a.max:
	case d < a.max || span.IsZero():
		return
	case a.slowest.SpanID.IsZero():
	default:
		order := bytes.Compare(trace[:], a.slowest.TraceID[:])
		if order > 0 || order == 0 && bytes.Compare(span[:], a.slowest.SpanID[:]) >= 0 {
			return
		}
	}
	a.max = d
	a.slowest = Exemplar{TraceID: trace, SpanID: span}
}

// merge adds what o has added up; o stays as it is.
func (a *accumulator) merge(o *accumulator) {
	if o.count == 0 {
		return
	}
	a.offerSlowest(o.max, o.slowest.TraceID, o.slowest.SpanID)
	if a.count == 0 || o.min < a.min {
		a.min = o.min
	}
	a.mergeSums(o)
	a.squares.merge(o.squares)
	a.durations.merge(&o.durations)
	a.kinds |= o.kinds
	a.variety.merge(&o.variety)
}

// mergeSums adds what a total of all groups needs.
func (a *accumulator) mergeSums(o *accumulator) {
	a.count += o.count
	a.errors += o.errors
	a.sum.merge(o.sum)
	a.elements.merge(o.elements)
	a.memory.merge(o.memory)
	a.flops.merge(o.flops)
	if o.weighted != nil {
		if a.weighted == nil {
			a.weighted = new(weighted)
		}
		a.weighted.merge(o.weighted)
	}
}

// kind returns the kind of the entries, "mixed" where they differ.
func (a *accumulator) kind() string {
	if bits.OnesCount8(a.kinds) > 1 {
		return mixedLabel
	}
	if k := op.Kind(bits.TrailingZeros8(a.kinds)).String(); k != "" {
		return k
	}
	return unknownLabel
}

// saturates reports whether a sum does not fit the report's int64.
func (a *accumulator) saturates() bool {
	return a.sum.exceedsInt64() || a.elements.exceedsInt64() || a.memory.exceedsInt64() || a.flops.exceedsInt64()
}

// stats returns the row, which has at least one entry. SelfNS, Share and Estimate are the caller's.
func (a *accumulator) stats() Stats {
	s := Stats{
		Kind:   a.kind(),
		Count:  a.count,
		SumNS:  a.sum.int64(),
		MeanNS: a.sum.float64() / float64(a.count),
		MinNS:  a.min, MaxNS: a.max,
		P50NS: a.percentile(50), P90NS: a.percentile(90), P95NS: a.percentile(95), P99NS: a.percentile(99),
		Elements: a.elements.int64(), MemoryBytes: a.memory.int64(), FLOPs: a.flops.int64(),
		Errors: a.errors,
		Mixes:  a.variety.mixes(),
	}
	if std, ok := sampleStd(a.sum, a.squares, a.count); ok {
		s.StdNS = &std
	}
	if !a.slowest.SpanID.IsZero() {
		exemplar := a.slowest
		s.Exemplar = &exemplar
	}
	return s
}

// percentile returns a percentile of the durations, nil without any. A bin may
// reach beyond the extremes, which are known exactly.
func (a *accumulator) percentile(percent int64) *float64 {
	v, ok := a.durations.percentile(percent)
	if !ok {
		return nil
	}
	v = min(max(v, float64(a.min)), float64(a.max))
	return &v
}
