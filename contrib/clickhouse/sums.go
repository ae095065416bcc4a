package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// sums are the sums over a group of entries, in the terms of the schema
// optrace.profile/v1.
type sums struct {
	Count       int64         `json:"count"`
	Errors      int64         `json:"errors,omitempty"`
	MinNS       int64         `json:"min_ns"`
	MaxNS       int64         `json:"max_ns"`
	SumNS       *big.Int      `json:"sum_ns"`
	Squares     *big.Int      `json:"sum_squares_ns2"`
	Elements    *big.Int      `json:"elements"`
	MemoryBytes *big.Int      `json:"memory_bytes"`
	FLOPs       *big.Int      `json:"flops"`
	Durations   []int64       `json:"durations,omitempty"`
	Bins        []int64       `json:"bins,omitempty"`
	Kinds       []string      `json:"kinds"`
	Exemplar    *exemplar     `json:"exemplar,omitempty"`
	InputShapes [][]int64     `json:"input_shapes,omitzero"`
	OutputShape []int64       `json:"output_shape,omitzero"`
	DType       string        `json:"dtype,omitempty"`
	InputDTypes []string      `json:"input_dtypes,omitzero"`
	Mixes       []string      `json:"mixes,omitempty"`
	Weighted    *weightedSums `json:"weighted,omitempty"`
	Work        *workSums     `json:"work,omitempty"`

	key            []*string // the values of the keys
	host           bool
	communications int64
	communication  *big.Int
	timed          uint64 // the durations that percentiles are of
	bins           map[int64]int64
}

type exemplar struct {
	TraceID string `json:"trace_id,omitempty"`
	SpanID  string `json:"span_id"`
}

// weightedSums are in units of 2^-32.
type weightedSums struct {
	Count *big.Int `json:"count_2_32"`
	Sum   *big.Int `json:"sum_ns_2_32"`
}

type workSums struct {
	FLOPsCount   int64    `json:"flops_count"`
	DerivedCount int64    `json:"flops_derived_count,omitempty"`
	MovedCount   int64    `json:"moved_count,omitempty"`
	Derived      *big.Int `json:"flops_derived"`
	TimeNS       *big.Int `json:"time_ns"`
	MovedBytes   *big.Int `json:"moved_bytes"`
	MovedFLOPs   *big.Int `json:"moved_flops"`
}

// maxExact is up to how many durations a sketch has them as they are.
const maxExact = 32

// timedCond holds for entries whose duration counts in percentiles.
const timedCond = "NOT has(warn, 'neg_duration')"

// reader reads the values of a row of an answer.
type reader struct {
	columns []string
	places  []any
	after   []func() // once the row was scanned
}

// add adds a column.
func (r *reader) add(expr string, place any) {
	r.columns, r.places = append(r.columns, expr), append(r.places, place)
}

// addCount adds a column of type UInt64, for a number that is below 2^63.
func (r *reader) addCount(expr string, n *int64) {
	v := new(uint64)
	r.add(expr, v)
	r.after = append(r.after, func() { *n = int64(*v) })
}

// addSum adds the columns of an exact sum.
func (r *reader) addSum(terms []term, sum **big.Int) {
	values := make([]uint64, len(terms))
	for i, t := range terms {
		r.add(t.expr, &values[i])
	}
	r.after = append(r.after, func() { *sum = total(terms, values) })
}

// scan scans a row.
func (r *reader) scan(scan func(...any) error) error {
	if err := scan(r.places...); err != nil {
		return err
	}
	for _, f := range r.after {
		f()
	}
	return nil
}

// sumsBy returns the sums by the keys, which are expressions of a text that may be null, and by
// side.
func (s *selection) sumsBy(ctx context.Context, keys []string) ([]*sums, error) {
	var list []*sums
	byKey := make(map[string]*sums)
	q := newSumsQuery(keys, s.recordedFLOPs)
	group := "GROUP BY " + names(append(slices.Clone(keys), "side"))
	err := s.entries(ctx, q.reader.columns, "", group+fmt.Sprintf(" LIMIT %d", maxRows+1), func(scan func(...any) error) error {
		row, err := q.scan(scan)
		if err != nil {
			return err
		}
		list = append(list, row)
		byKey[keyOf(row.key, row.host)] = row
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(list) > maxRows:
		return nil, fmt.Errorf("there are more than %d rows by %s", maxRows, names(keys))
	}
	if err := s.addBins(ctx, keys, byKey); err != nil {
		return nil, err
	}
	for _, row := range list {
		if err := row.finish(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// keyOf returns a text that differs for different keys and sides.
func keyOf(values []*string, host bool) string {
	var b strings.Builder
	for _, v := range values {
		if v == nil {
			b.WriteByte('-')
			continue
		}
		fmt.Fprintf(&b, "%d:%s", len(*v), *v)
	}
	if host {
		b.WriteByte('h')
	}
	return b.String()
}

// binOf is the first duration of the bin of a sketch: each power of two has 64 bins, and
// durations below 128 ns have one each.
const binOf = "duration_ns - duration_ns % greatest(intDiv(roundToExp2(duration_ns), 64), 1)"

// addBins adds the bins of the durations to the rows.
func (s *selection) addBins(ctx context.Context, keys []string, rows map[string]*sums) error {
	values := make([]*string, len(keys))
	var r reader
	for i, k := range keys {
		r.add(k, &values[i])
	}
	var side string
	var first, n int64
	r.add("side", &side)
	r.add(binOf, &first)
	r.addCount("count()", &n)
	group := "GROUP BY " + names(append(slices.Clone(keys), "side", binOf))
	return s.entries(ctx, r.columns, timedCond, group, func(scan func(...any) error) error {
		if err := r.scan(scan); err != nil {
			return err
		}
		row := rows[keyOf(values, side != "")]
		if row == nil {
			return errors.New("the table changed while the report was made")
		}
		if row.bins == nil {
			row.bins = make(map[int64]int64)
		}
		row.bins[binNumber(first)] += n
		return nil
	})
}

// finish sets the form of the durations.
func (s *sums) finish() error {
	if s.Count >= maxCount {
		return fmt.Errorf("%d entries are in one row: sums are exact below %d", s.Count, int64(maxCount))
	}
	if s.timed <= maxExact {
		slices.Sort(s.Durations)
		return nil
	}
	s.Durations = nil
	numbers := make([]int64, 0, len(s.bins))
	for b := range s.bins {
		numbers = append(numbers, b)
	}
	slices.Sort(numbers)
	for i, b := range numbers {
		if i == 0 {
			s.Bins = append(s.Bins, b)
		} else if empty := b - numbers[i-1] - 1; empty > 0 {
			s.Bins = append(s.Bins, -empty)
		}
		s.Bins = append(s.Bins, s.bins[b])
	}
	return nil
}
