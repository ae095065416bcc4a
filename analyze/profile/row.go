package profile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

// accumulator adds up the statistics of a group of entries. The zero value is ready to use.
//
// Partial results contain it as JSON, with the durations beside it.
type accumulator struct {
	Count    int64    `json:"count"`
	Errors   int64    `json:"errors,omitempty"`
	MinNS    int64    `json:"min_ns"`
	MaxNS    int64    `json:"max_ns"`
	SumNS    wide.Sum `json:"sum_ns"`
	Squares  wide.Sum `json:"sum_squares_ns2"`
	Elements wide.Sum `json:"elements,omitzero"`
	memorySums
	FLOPs     wide.Sum `json:"flops,omitzero"`
	durations sketch.Sketch
	Kinds     set      `json:"kinds"`
	Slowest   Exemplar `json:"exemplar,omitzero"`
	variety
	Weighted *weighted  `json:"weighted,omitempty"` // nil without weighted entries
	Work     *work.Sums `json:"work,omitempty"`     // nil without FLOPs
}

// memorySums are the bytes of operations. Partial results contain them as JSON.
type memorySums struct {
	MemoryBytes wide.Sum `json:"memory_bytes,omitzero"`
	// CopiedBytes is the part of MemoryBytes copied or set by operations of kind memory.
	CopiedBytes wide.Sum `json:"copied_bytes,omitzero"`
	// MemoryCount counts operations with known bytes. Earlier versions did not write it.
	MemoryCount int64 `json:"memory_count,omitzero"`
}

func (s *memorySums) add(e *op.Entry) {
	if !e.MemoryBytes.Known {
		return
	}
	s.MemoryCount++
	s.MemoryBytes.Add(e.MemoryBytes.V)
	if e.Kind == op.KindMemory {
		s.CopiedBytes.Add(e.MemoryBytes.V)
	}
}

func (s *memorySums) merge(o *memorySums) {
	s.MemoryCount += o.MemoryCount
	s.MemoryBytes.Merge(o.MemoryBytes)
	s.CopiedBytes.Merge(o.CopiedBytes)
}

// entrySums are sums over all entries of a row. Partial results contain them as JSON.
type entrySums struct {
	Count int64    `json:"count"`
	SumNS wide.Sum `json:"sum_ns"`
	memorySums
}

func (s *entrySums) add(e *op.Entry) {
	s.Count++
	s.SumNS.Add(e.Duration)
	s.memorySums.add(e)
}

func (s *entrySums) merge(o *entrySums) {
	s.Count += o.Count
	s.SumNS.Merge(o.SumNS)
	s.memorySums.merge(&o.memorySums)
}

// known returns the bytes; unknown if no operation has any.
func (s *memorySums) known() op.Int {
	return op.Int{V: s.MemoryBytes.Int64(), Known: s.MemoryCount > 0 || s.MemoryBytes != wide.Sum{}}
}

func (a *accumulator) add(e *op.Entry, w work.Work) {
	d := e.Duration
	if d >= a.MaxNS || a.Count == 0 {
		a.offerSlowest(d, e.TraceID, e.SpanID)
	}
	if d < a.MinNS || a.Count == 0 {
		a.MinNS = d
	}
	a.Count++
	a.SumNS.Add(d)
	a.Squares.AddSquare(d)
	a.Elements.Add(e.OutputElements.V)
	a.memorySums.add(e)
	if w.Known() {
		if a.Work == nil {
			a.Work = new(work.Sums)
		}
		a.FLOPs.Add(w.Flops)
		a.Work.Add(&w, d)
	}
	if e.Failed {
		a.Errors++
	}
	if e.Warn&op.WarnNegativeDuration == 0 {
		a.durations.Add(d)
	}
	a.Kinds |= 1 << e.Kind
	a.variety.merge(&variety{InputShapes: e.InputShapes, OutputShape: e.OutputShape, DType: e.DType,
		InputDTypes: e.InputDTypes})
	if e.AdjustedCount > 0 {
		if a.Weighted == nil {
			a.Weighted = new(weighted)
		}
		a.Weighted.add(e.AdjustedCount, d)
	}
}

// offerSlowest raises the maximum to d and keeps its ids. Among equal durations the smallest ids win, in any order.
// Missing ids and ids of local traces count as the largest.
func (a *accumulator) offerSlowest(d int64, trace op.TraceID, span op.SpanID) {
	if opfile.IsLocal(trace) {
		trace = op.TraceID{}
		span = op.SpanID{}
	}
	switch {
	case a.Count == 0 || d > a.MaxNS:
	case d < a.MaxNS || span.IsZero():
		return
	case a.Slowest.SpanID.IsZero():
	default:
		order := bytes.Compare(trace[:], a.Slowest.TraceID[:])
		if order > 0 || order == 0 && bytes.Compare(span[:], a.Slowest.SpanID[:]) >= 0 {
			return
		}
	}
	a.MaxNS = d
	a.Slowest = Exemplar{TraceID: trace, SpanID: span}
}

// merge adds the entries of o and leaves o unchanged.
func (a *accumulator) merge(o *accumulator) {
	if o.Count == 0 {
		return
	}
	a.offerSlowest(o.MaxNS, o.Slowest.TraceID, o.Slowest.SpanID)
	if a.Count == 0 || o.MinNS < a.MinNS {
		a.MinNS = o.MinNS
	}
	a.mergeSums(o)
	a.Squares.Merge(o.Squares)
	a.durations.Merge(&o.durations)
	a.Kinds |= o.Kinds
	a.variety.merge(&o.variety)
}

// mergeSums adds the sums needed for a total of all groups.
func (a *accumulator) mergeSums(o *accumulator) {
	a.Count += o.Count
	a.Errors += o.Errors
	a.SumNS.Merge(o.SumNS)
	a.Elements.Merge(o.Elements)
	a.memorySums.merge(&o.memorySums)
	a.FLOPs.Merge(o.FLOPs)
	if o.Work != nil {
		if a.Work == nil {
			a.Work = new(work.Sums)
		}
		a.Work.Merge(o.Work)
	}
	if o.Weighted != nil {
		if a.Weighted == nil {
			a.Weighted = new(weighted)
		}
		a.Weighted.Count.Merge(o.Weighted.Count)
		a.Weighted.Sum.Merge(o.Weighted.Sum)
	}
}

func (a *accumulator) kind() string {
	if bits.OnesCount16(uint16(a.Kinds)) > 1 {
		return key.Mixed
	}
	if k := op.Kind(bits.TrailingZeros16(uint16(a.Kinds))).String(); k != "" {
		return k
	}
	return key.Unknown
}

func (a *accumulator) saturates() bool {
	return a.SumNS.ExceedsInt64() || a.Elements.ExceedsInt64() || a.MemoryBytes.ExceedsInt64() ||
		a.FLOPs.ExceedsInt64() || a.Work != nil && a.Work.Saturates()
}

// sideStats returns the statistics of a non-empty row, except SelfNS. estimates reports whether estimates are sound.
func (a *accumulator) sideStats(side int, totalNS int64, estimates bool) Stats {
	s := Stats{
		Kind: a.kind(), Count: a.Count, SumNS: a.SumNS.Int64(), MeanNS: a.SumNS.Float64() / float64(a.Count),
		MinNS: a.MinNS, MaxNS: a.MaxNS, P50NS: a.percentile(50), P90NS: a.percentile(90), P95NS: a.percentile(95),
		P99NS: a.percentile(99), Elements: a.Elements.Int64(), MemoryBytes: a.known(), FLOPs: a.FLOPs.Int64(),
		Errors: a.Errors, Mixes: a.variety.mixes(),
	}
	if std, ok := wide.SampleStd(a.SumNS, a.Squares, a.Count); ok {
		s.StdNS = op.KnownFloat(std)
	}
	if !a.Slowest.SpanID.IsZero() {
		exemplar := a.Slowest
		s.Exemplar = &exemplar
	}
	if side == int(op.SideHost) {
		s.Side = op.SideHost.String()
	} else if totalNS > 0 {
		s.Share = op.KnownFloat(float64(s.SumNS) / float64(totalNS))
	}
	if a.Work != nil {
		s.Figures = a.Work.Figures(a.FLOPs, side == int(op.SideHost))
	}
	if estimates && a.Weighted != nil {
		s.Estimate = a.Weighted.estimate()
	}
	return s
}

// percentile returns a percentile of the durations; unknown without durations. It clips the middle of a bin to the
// exact extremes.
func (a *accumulator) percentile(percent int64) op.Float {
	v, ok := a.durations.Percentile(percent)
	if !ok {
		return op.Float{}
	}
	return op.KnownFloat(min(max(v, float64(a.MinNS)), float64(a.MaxNS)))
}

// estimateUnit is the fixed-point unit of sampling weights. Integer sums do not depend on the order.
const estimateUnit = 1 << 32

const maxWeight = 1 << 56

// weighted estimates the entries represented by sampled ones with the Horvitz–Thompson estimator: each entry counts as
// the inverse of its sampling probability.
type weighted struct {
	Count wide.Sum `json:"count_2_32"`  // in units of 1/estimateUnit
	Sum   wide.Sum `json:"sum_ns_2_32"` // of nanoseconds, in the same units
}

func (w *weighted) add(weight float64, duration int64) {
	weight = min(weight, maxWeight)
	whole := uint64(weight)
	part := uint64((weight - float64(whole)) * estimateUnit)
	mid := whole >> 32
	lo := whole<<32 | part
	w.Count.AddWords(0, mid, lo)
	w.Sum.AddProduct(mid, lo, duration)
}

func (w *weighted) estimate() Estimate {
	count := w.Count.Float64() / estimateUnit
	sum := w.Sum.Float64() / estimateUnit
	return Estimate{EstCount: op.KnownFloat(count), EstSumNS: op.KnownFloat(sum)}
}

// variety detects differences among the entries of a row in properties that determine their cost: shapes and element
// types. Unknown properties do not differ.
type variety struct {
	// The first values seen; nil if entries differ.
	InputShapes []op.Shape `json:"input_shapes,omitzero"`
	OutputShape op.Shape   `json:"output_shape,omitzero"`
	DType       op.DType   `json:"dtype,omitempty"`
	InputDTypes []op.DType `json:"input_dtypes,omitzero"`
	Mixes       set        `json:"mixes,omitempty"`
}

// merge adds the differences of o, and differences between the first values of o and v.
func (v *variety) merge(o *variety) {
	mix(v, o, mixesInputs, &v.InputShapes, o.InputShapes, equalInputs, cloneInputs)
	mix(v, o, mixesOutput, &v.OutputShape, o.OutputShape, equalShapes, slices.Clone)
	mix(v, o, mixesDTypes, &v.InputDTypes, o.InputDTypes, slices.Equal, slices.Clone)
	switch {
	case v.Mixes&mixesDType != 0:
	case o.Mixes&mixesDType != 0 ||
		v.DType != "" && o.DType != "" && !symbols.SameString(string(v.DType), string(o.DType)):
		v.Mixes |= mixesDType
		v.DType = ""
	case v.DType == "":
		v.DType = o.DType
	}
}

// mix merges one property. first is its first value in v, value the value in o.
func mix[S ~[]T, T any](v, o *variety, property set, first *S, value S, equal func(a, b S) bool, clone func(S) S) {
	switch {
	case v.Mixes&property != 0:
	case o.Mixes&property != 0 || *first != nil && value != nil && !equal(*first, value):
		v.Mixes |= property
		*first = nil
	case *first == nil && value != nil:
		*first = clone(value)
	}
}

func (v *variety) mixes() []string {
	names := []string{}
	if v.Mixes&(mixesInputs|mixesOutput) != 0 {
		names = append(names, "shape")
	}
	if v.Mixes&(mixesDType|mixesDTypes) != 0 {
		names = append(names, "dtype")
	}
	return names
}

func cloneInputs(shapes []op.Shape) []op.Shape {
	own := make([]op.Shape, len(shapes))
	for i, s := range shapes {
		own[i] = slices.Clone(s)
	}
	return own
}

func equalInputs(a, b []op.Shape) bool { return slices.EqualFunc(a, b, equalShapes) }

// equalShapes reports whether shapes are equal; unknown differs from a scalar. For few dimensions a loop is faster than
// a call.
func equalShapes(a, b op.Shape) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for i, d := range a {
		if d != b[i] {
			return false
		}
	}
	return true
}

// set is a set of kinds or of differing properties, one bit each. Its JSON form is a list of names.
type set uint16

const (
	mixesInputs set = 1 << (iota + op.KindControl + 1) // after the kinds
	mixesOutput
	mixesDType
	mixesDTypes
)

var setNames = []string{
	"", op.KindCompute.String(), op.KindCollective.String(), op.KindMemory.String(), op.KindIO.String(),
	op.KindControl.String(), "input_shapes", "output_shape", "dtype", "input_dtypes",
}

// MarshalJSON returns the names.
func (s set) MarshalJSON() ([]byte, error) {
	var names []string
	for ; s != 0; s &= s - 1 {
		names = append(names, setNames[bits.TrailingZeros16(uint16(s))])
	}
	return json.Marshal(names)
}

// UnmarshalJSON reads the names.
func (s *set) UnmarshalJSON(text []byte) error {
	var names []string
	if err := json.Unmarshal(text, &names); err != nil {
		return err
	}
	*s = 0
	for _, name := range names {
		bit := slices.Index(setNames, name)
		if bit < 0 {
			return fmt.Errorf("kind or property %.100q: %w", name, ErrText)
		}
		*s |= 1 << bit
	}
	return nil
}

var directions = [...]string{"", "HtoD", "DtoH", "DtoD", "PtoP"}

// copyDirection returns the index in directions of the direction in a copy's name, ignoring case; 0 for none.
//
//	Memcpy HtoD (Pageable -> Device)   HtoD
//	memcpy_dtoh                        DtoH
//	Memset (Device)                    none
func copyDirection(operation string) uint8 {
	lower := strings.ToLower(operation)
	return uint8(1 + slices.IndexFunc(directions[1:], func(name string) bool {
		return strings.Contains(lower, strings.ToLower(name))
	}))
}

type copies struct {
	entrySums
	// TimedNS and TimedBytes cover copies with a known rate.
	TimedNS    wide.Sum `json:"timed_ns"`
	TimedBytes wide.Sum `json:"timed_bytes"`
}

func (c *copies) add(e *op.Entry) {
	c.entrySums.add(e)
	if e.MemoryBytes.Known && e.Duration > 0 {
		c.TimedNS.Add(e.Duration)
		c.TimedBytes.Add(e.MemoryBytes.V)
	}
}

func (c *copies) merge(o *copies) {
	c.entrySums.merge(&o.entrySums)
	c.TimedNS.Merge(o.TimedNS)
	c.TimedBytes.Merge(o.TimedBytes)
}

// copyRows returns a row per direction with copies, never nil.
func copyRows(all *[len(directions)]copies) []Copy {
	rows := []Copy{}
	for d := range all {
		c := &all[d]
		if c.Count == 0 {
			continue
		}
		row := Copy{
			Direction: directions[d], Count: c.Count, SumNS: c.SumNS.Int64(), MemoryBytes: c.known(),
		}
		if ns := c.TimedNS.Float64(); ns > 0 {
			rate := c.TimedBytes.Float64() / ns * 1e9
			row.BytesPerSecond = op.KnownFloat(rate)
		}
		rows = append(rows, row)
	}
	return rows
}
