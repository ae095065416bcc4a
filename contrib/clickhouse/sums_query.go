package clickhouse

import (
	"math/bits"
	"slices"
	"strings"
)

// sumsQuery reads rows of sums.
type sumsQuery struct {
	reader   reader
	row      *sums
	key      []*string
	side     string
	slowest  string
	variety  []*varietyOf
	unknown  []int64
	weighted int64
	weights  weightedSums
	work     workSums
}

// varietyOf is a property of which it matters whether entries differ in it.
type varietyOf struct {
	name        string
	known       int64
	least, most uint64 // hashes
}

func newSumsQuery(keys []string, recordedFLOPs bool) *sumsQuery {
	q := &sumsQuery{row: new(sums), key: make([]*string, len(keys))}
	r := &q.reader
	for i, k := range keys {
		r.add(k, &q.key[i])
	}
	r.add("side", &q.side)
	r.addCount("count()", &q.row.Count)
	r.addCount("countIf(failed = 1)", &q.row.Errors)
	r.add("min(duration_ns)", &q.row.MinNS)
	r.add("max(duration_ns)", &q.row.MaxNS)
	duration := limbsOf("duration_ns")
	r.addSum(sumOf(duration, ""), &q.row.SumNS)
	r.addSum(sumOfProducts(duration, duration, ""), &q.row.Squares)
	r.addSum(sumOf(limbsOf("ifNull(output_elements, 0)"), ""), &q.row.Elements)
	r.addSum(sumOf(limbsOf("ifNull(memory_bytes, 0)"), ""), &q.row.MemoryBytes)
	r.add("countIf("+timedCond+")", &q.row.timed)
	r.add("groupArrayIf(33)(duration_ns, "+timedCond+")", &q.row.Durations)
	r.add("groupUniqArray(kind)", &q.row.Kinds)
	r.addCount("countIf(kind = 'collective' AND side = '')", &q.row.communications)
	r.addSum(sumOf(duration, "kind = 'collective' AND side = ''"), &q.row.communication)
	r.add("argMin("+exemplarIDs+", tuple(-duration_ns, "+exemplarIDs+"))", &q.slowest)
	q.addVariety()
	q.addWeights(duration)
	q.addWork(duration, recordedFLOPs)
	return q
}

// exemplarIDs are the ids of an entry as one text, which sorts entries without ids, or with
// those of a trace that only a profile has, behind all others.
const exemplarIDs = "if(span_id = '' OR startsWith(trace_id, '6f70747261636501'), 'g', concat(trace_id, ',', span_id))"

func (q *sumsQuery) addVariety() {
	r := &q.reader
	add := func(name, known, value string) {
		v := &varietyOf{name: name}
		q.variety = append(q.variety, v)
		r.addCount("countIf("+known+")", &v.known)
		r.add("minIf(cityHash64("+value+"), "+known+")", &v.least)
		r.add("maxIf(cityHash64("+value+"), "+known+")", &v.most)
	}
	add("input_shapes", "has_input_shapes = 1", "input_shapes, unknown_inputs")
	add("output_shape", "has_output_shape = 1", "output_shape")
	add("dtype", "dtype != ''", "dtype")
	add("input_dtypes", "notEmpty(input_dtypes)", "input_dtypes")
	r.add("anyIf(input_shapes, has_input_shapes = 1)", &q.row.InputShapes)
	r.add("anyIf(unknown_inputs, has_input_shapes = 1)", &q.unknown)
	r.add("anyIf(output_shape, has_output_shape = 1)", &q.row.OutputShape)
	r.add("anyIf(dtype, dtype != '')", &q.row.DType)
	r.add("anyIf(input_dtypes, notEmpty(input_dtypes))", &q.row.InputDTypes)
}

// addWeights adds the sums of sampling weights, as numbers with 32 bits behind the point.
func (q *sumsQuery) addWeights(duration []limb) {
	const (
		weighted = "adjusted_count > 0"
		weight   = "least(adjusted_count, toFloat64(72057594037927936))"
		whole    = "toUInt64(floor(" + weight + "))"
	)
	limbs := []limb{
		{"toUInt64(floor((" + weight + " - floor(" + weight + ")) * 4294967296))", 0},
		{"bitAnd(" + whole + ", 4294967295)", 32},
		{"bitShiftRight(" + whole + ", 32)", 64},
	}
	q.reader.addCount("countIf("+weighted+")", &q.weighted)
	q.reader.addSum(sumOf(limbs, weighted), &q.weights.Count)
	q.reader.addSum(sumOfProducts(limbs, duration, weighted), &q.weights.Sum)
}

// addWork adds the sums of what operations computed and moved.
func (q *sumsQuery) addWork(duration []limb, recordedFLOPs bool) {
	flops, derived, moved := "work_flops", "work_derived = 1", "moved_bytes IS NOT NULL"
	if recordedFLOPs {
		flops, derived, moved = "flops", "0", "0"
	}
	r, w := &q.reader, &q.work
	limbs := limbsOf("ifNull(" + flops + ", 0)")
	r.addSum(sumOf(limbs, ""), &q.row.FLOPs)
	r.addCount("countIf("+flops+" IS NOT NULL)", &w.FLOPsCount)
	r.addCount("countIf("+derived+")", &w.DerivedCount)
	r.addCount("countIf("+moved+")", &w.MovedCount)
	r.addSum(sumOf(limbs, derived), &w.Derived)
	r.addSum(sumOf(duration, flops+" IS NOT NULL"), &w.TimeNS)
	r.addSum(sumOf(limbsOf("ifNull(moved_bytes, 0)"), moved), &w.MovedBytes)
	r.addSum(sumOf(limbs, moved), &w.MovedFLOPs)
}

// scan returns the sums of a row.
func (q *sumsQuery) scan(scan func(...any) error) (*sums, error) {
	*q.row = sums{}
	if err := q.reader.scan(scan); err != nil {
		return nil, err
	}
	row := *q.row
	row.host = q.side != ""
	for _, v := range q.key {
		if v != nil {
			own := *v
			v = &own
		}
		row.key = append(row.key, v)
	}
	if trace, span, ok := strings.Cut(q.slowest, ","); ok {
		row.Exemplar = &exemplar{trace, span}
	}
	q.setVariety(&row)
	if q.weighted > 0 {
		own := q.weights
		row.Weighted = &own
	}
	if q.work.FLOPsCount > 0 {
		own := q.work
		row.Work = &own
	}
	return &row, nil
}

// setVariety sets what differs, and keeps the value of what does not.
func (q *sumsQuery) setVariety(row *sums) {
	row.InputShapes, row.OutputShape = orEmpty(row.InputShapes), orEmpty(row.OutputShape)
	for i, s := range row.InputShapes {
		if row.InputShapes[i] = orEmpty(s); slices.Contains(q.unknown, int64(i)) {
			row.InputShapes[i] = nil
		}
	}
	for _, v := range q.variety {
		mixes := v.known > 0 && v.least != v.most
		if mixes {
			row.Mixes = append(row.Mixes, v.name)
		}
		if v.known > 0 && !mixes {
			continue
		}
		switch v.name {
		case "input_shapes":
			row.InputShapes = nil
		case "output_shape":
			row.OutputShape = nil
		case "dtype":
			row.DType = ""
		case "input_dtypes":
			row.InputDTypes = nil
		}
	}
}

// orEmpty returns a list, an empty one for nil.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// binNumber returns the number of the bin that starts with a duration.
func binNumber(first int64) int64 {
	const binBits = 6
	shift := max(0, bits.Len64(uint64(first))-binBits-1)
	return int64(shift)<<binBits + first>>shift
}
