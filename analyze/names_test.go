package analyze

import (
	"strconv"
	"testing"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// D2: names without end take the rows that the limit says and one for all others, and
// nothing of what they add up to is lost.
func TestManyNames(t *testing.T) {
	const names, limit = 50_000, 2_500
	var e op.Entry
	records := func(yield func(op.Record, error) bool) {
		for i := range names {
			e = op.Entry{Operation: "op" + strconv.Itoa(i), Kind: op.KindCompute, Duration: int64(i)}
			if !yield(op.Record{Entry: &e}, nil) {
				return
			}
		}
	}
	r := check.Must(Run(t.Context(), Records(records), Options{SumsOnly: true, MaxGroups: limit}))(t)
	count, sum, others := int64(0), int64(0), int64(0)
	for _, row := range r.Operations {
		count += row.Count
		sum += row.SumNS
		if row.Operation == key.Other {
			others = row.Count
		}
	}
	n := int64(names)
	if len(r.Operations) != limit+1 || others != n-limit {
		t.Errorf("%d rows, %d operations in that of the others", len(r.Operations), others)
	}
	if count != n || sum != n*(n-1)/2 || r.Total.Count != n || r.Total.SumNS != sum {
		t.Errorf("the rows have %d operations of %d ns, the total %d of %d", count, sum, r.Total.Count, r.Total.SumNS)
	}
	// The number of the others is an estimate.
	if over := r.Input.OverflowedGroups; over < others*9/10 || over > others*11/10 {
		t.Errorf("%d groups overflowed, want about %d", over, others)
	}
}
