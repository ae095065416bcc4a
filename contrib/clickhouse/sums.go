package clickhouse

import (
	"context"
	"fmt"
	"math/big"
	"math/bits"
	"slices"
	"strings"

	"github.com/optrace/optrace/op"
)

const maxExact = 32 // limits the exact durations of a sketch

// timedCond selects entries with a duration for percentiles.
const timedCond = "NOT has(warn, 'neg_duration')"

// exemplarIDs has the ids of an entry as one text. Entries without ids, and those of a trace in a profile, sort last.
const exemplarIDs = "if(span_id = '' OR startsWith(trace_id, '6f70747261636501'), 'g', concat(trace_id, ',', span_id))"

// sumsReader reads sums over groups of entries, as members of a line of partial results.
type sumsReader struct {
	reader
	keys      []string  // expressions of a nullable text
	key       []*string // the values of the row
	timed     uint64    // the number of durations for percentiles
	durations []int64   // the first of these durations
	bins      []int64   // the first duration of each bin
	counts    []uint64  // of the bins
}

func newSumsReader(keys []string, recordedFLOPs bool) *sumsReader {
	q := &sumsReader{keys: keys, key: make([]*string, len(keys))}
	r := &q.reader
	for i, k := range keys {
		r.add(k, &q.key[i])
	}
	member[string](r, "side", "side")
	member[uint64](r, "count", "count()")
	r.count("errors", "failed = 1")
	member[int64](r, "min_ns", "min(duration_ns)")
	member[int64](r, "max_ns", "max(duration_ns)")
	duration := limbsOf("duration_ns")
	r.sum("sum_ns", sumOf(duration, ""))
	r.sum("sum_squares_ns2", sumOfProducts(duration, duration, ""))
	r.sum("elements", sumOf(limbsOf("ifNull(output_elements, 0)"), ""))
	r.memory()
	r.add("countIf("+timedCond+")", &q.timed)
	r.add(fmt.Sprintf("groupArrayIf(%d)(duration_ns, %s)", maxExact+1, timedCond), &q.durations)
	r.add("tupleElement("+bins+", 1)", &q.bins)
	r.add("tupleElement("+bins+", 2)", &q.counts)
	member[[]string](r, "kinds", "groupUniqArray(kind)")
	var slowest string
	r.add("argMin("+exemplarIDs+", tuple(-duration_ns, "+exemplarIDs+"))", &slowest)
	r.members = append(r.members, func(l line) {
		if e := make(line); setIDs(e, slowest) {
			l["exemplar"] = e
		}
	})
	r.addVariety()
	r.addWeights(duration)
	r.addWork(duration, recordedFLOPs)
	return q
}

// setIDs adds ids in the form of exemplarIDs. It reports whether there are any.
func setIDs(l line, ids string) bool {
	trace, span, ok := strings.Cut(ids, ",")
	if ok {
		l["span_id"] = span
	}
	if trace != "" && ok {
		l["trace_id"] = trace
	}
	return ok
}

// addVariety adds shapes and element types if all entries of a group agree on them.
func (r *reader) addVariety() {
	variety[[][]int64](r, "input_shapes", "has_input_shapes = 1", "input_shapes", "unknown_inputs")
	variety[[]int64](r, "output_shape", "has_output_shape = 1", "output_shape")
	variety[string](r, "dtype", "dtype != ''", "dtype")
	variety[[]string](r, "input_dtypes", "notEmpty(input_dtypes)", "input_dtypes")
	var unknown []int64
	r.add("anyIf(unknown_inputs, has_input_shapes = 1)", &unknown)
	r.members = append(r.members, func(l line) {
		if shapes, ok := l["input_shapes"].([][]int64); ok {
			list := make([]op.Shape, len(shapes))
			for i, s := range shapes {
				list[i] = append(op.Shape{}, s...)
			}
			forget(list, unknown)
			l["input_shapes"] = list
		}
		if shape, ok := l["output_shape"].([]int64); ok {
			l["output_shape"] = append(op.Shape{}, shape...)
		}
	})
}

// variety adds the first column as a member if all known rows agree on the columns; otherwise it adds the
// name to mixes.
func variety[T any](r *reader, name, known string, columns ...string) {
	var n, least, most uint64
	var value T
	r.add("countIf("+known+")", &n)
	r.add("minIf(cityHash64("+names(columns)+"), "+known+")", &least)
	r.add("maxIf(cityHash64("+names(columns)+"), "+known+")", &most)
	r.add("anyIf("+columns[0]+", "+known+")", &value)
	r.members = append(r.members, func(l line) {
		switch {
		case n > 0 && least == most:
			l[name] = value
		case n > 0:
			mixes, _ := l["mixes"].([]string)
			l["mixes"] = append(mixes, name)
		}
	})
}

// addWeights adds the sums of sampling weights, as fixed-point numbers with 32 fractional bits.
func (r *reader) addWeights(duration []term) {
	const (
		weighted = "adjusted_count > 0"
		weight   = "least(adjusted_count, toFloat64(72057594037927936))"
		whole    = "toUInt64(floor(" + weight + "))"
	)
	limbs := []term{
		{"toUInt64(floor((" + weight + " - floor(" + weight + ")) * 4294967296))", 0},
		{"bitAnd(" + whole + ", 4294967295)", 32},
		{"bitShiftRight(" + whole + ", 32)", 64},
	}
	r.object("weighted", weighted, func() {
		r.sum("count_2_32", sumOf(limbs, weighted))
		r.sum("sum_ns_2_32", sumOfProducts(limbs, duration, weighted))
	})
}

func (r *reader) addWork(duration []term, recordedFLOPs bool) {
	flops := "work_flops"
	derived := "work_derived = 1"
	moved := "moved_bytes IS NOT NULL"
	if recordedFLOPs {
		flops = "flops"
		derived = "0"
		moved = "0"
	}
	limbs := limbsOf("ifNull(" + flops + ", 0)")
	known := flops + " IS NOT NULL"
	r.sum("flops", sumOf(limbs, ""))
	r.object("work", known, func() {
		r.count("flops_count", known)
		r.count("flops_derived_count", derived)
		r.count("moved_count", moved)
		r.sum("flops_derived", sumOf(limbs, derived))
		r.sum("time_ns", sumOf(duration, known))
		r.sum("moved_bytes", sumOf(limbsOf("ifNull(moved_bytes, 0)"), moved))
		r.sum("moved_flops", sumOf(limbs, moved))
	})
}

func (q *sumsReader) each(ctx context.Context, s *selection, f func(line)) error {
	keys := append(slices.Clone(q.keys), "side")
	return q.grouped(ctx, s, "", keys, "rows by "+names(q.keys), func(l line) error {
		if n := l["count"].(uint64); n >= maxCount {
			return fmt.Errorf("%d entries are in one row: sums are exact below %d", n, int64(maxCount))
		}
		switch {
		case q.timed > maxExact:
			l["bins"] = binsForm(q.bins, q.counts)
		case q.timed > 0:
			slices.Sort(q.durations)
			l["durations"] = q.durations
		}
		f(l)
		return nil
	})
}

// binOf is the first duration of a bin. Each power of two has 64 bins, and each duration below 128 ns has its own.
const binOf = "duration_ns - duration_ns % greatest(intDiv(roundToExp2(duration_ns), 64), 1)"

// bins is the number of durations in each bin: a list of first durations in order, and a list of counts.
const bins = "sumMapIf([" + binOf + "], [toUInt64(1)], " + timedCond + ")"

// binNumber returns the number of the bin with a first duration.
func binNumber(first int64) int64 {
	const binBits = 6
	shift := max(0, bits.Len64(uint64(first))-binBits-1)
	return int64(shift)<<binBits + first>>shift
}

// binsForm returns bins in the format of partial results.
func binsForm(firsts []int64, counts []uint64) []int64 {
	var form []int64
	last := int64(0)
	for i, first := range firsts {
		b := binNumber(first)
		if i == 0 {
			form = append(form, b)
		} else if empty := b - last - 1; empty > 0 {
			form = append(form, -empty)
		}
		form = append(form, int64(counts[i]))
		last = b
	}
	return form
}

// Sums are exact up to 192 bits, with arithmetic of all versions: numbers are split into parts of 32 bits,
// and each part is summed up in 64 bits.

const maxCount = 1 << 32 // limits the rows of a sum, so that a sum of 32-bit parts fits 64 bits

// term is an expression of type UInt64 to shift left: 32 bits of a non-negative number, or their sum.
type term struct {
	expr  string
	shift uint
}

// limbsOf returns the 32-bit parts of a number.
func limbsOf(expr string) []term {
	return []term{
		{"toUInt64(bitAnd(" + expr + ", 4294967295))", 0},
		{"toUInt64(bitShiftRight(" + expr + ", 32))", 32},
	}
}

// sumOf returns the terms of a sum over the rows with cond; "" is all rows.
func sumOf(limbs []term, cond string) []term {
	var terms []term
	for _, l := range limbs {
		terms = append(terms, term{sumIf(l.expr, cond), l.shift})
	}
	return terms
}

// sumOfProducts returns the terms of the sum of a * b.
func sumOfProducts(a, b []term, cond string) []term {
	var terms []term
	for _, x := range a {
		for _, y := range b {
			product := "(" + x.expr + " * " + y.expr + ")"
			terms = append(terms,
				term{sumIf("bitAnd("+product+", 4294967295)", cond), x.shift + y.shift},
				term{sumIf("bitShiftRight("+product+", 32)", cond), x.shift + y.shift + 32})
		}
	}
	return terms
}

func sumIf(expr, cond string) string {
	if cond == "" {
		return "sum(" + expr + ")"
	}
	return "sumIf(" + expr + ", " + cond + ")"
}

// total adds up the shifted values.
func total(terms []term, values []uint64) *big.Int {
	sum, part := new(big.Int), new(big.Int)
	for i, t := range terms {
		sum.Add(sum, part.Lsh(part.SetUint64(values[i]), t.shift))
	}
	return sum
}
