package analyze

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Any entries give a report, and it encodes to JSON, without NaN and infinities.
func TestReportOnHostileEntries(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		var records []op.Record
		for range r.IntN(30) {
			e := tracetest.HostileEntry(r)
			records = append(records, op.Record{Entry: &e})
		}
		for range r.IntN(3) {
			records = append(records, op.Record{Batch: &op.Batch{Sequence: r.Int64(),
				Entries: r.Int64() - math.MaxInt64/2}})
		}
		by := tracetest.Pick(r, "", "operation,shape", "rank,stream,step", "trace,root,service,kind,device")
		rep := sampleReport(records, by, true)
		if text, err := json.Marshal(rep); err != nil || !json.Valid(text) {
			t.Errorf("seed %d: %v", seed, err)
		}
		if rep.Total.SumNS < 0 || rep.Total.WallNS.Known && rep.Total.WallNS.V < 0 || rep.Total.MemoryBytes.V < 0 {
			t.Errorf("seed %d: a negative total: %+v", seed, rep.Total)
		}
	})
}

// Row D2 of docs/faults.md: an unlimited number of names takes the limited rows and one for the rest, without losing
// sums.
func TestManyNames(t *testing.T) {
	const names, limit = 50_000, 2_500
	records := operations(names, func(i int) string { return "op" + strconv.Itoa(i) })
	r := check.Must(Run(t.Context(), Records(records), Options{SumsOnly: true, MaxGroups: limit}))(t)
	count := int64(0)
	sum := int64(0)
	others := int64(0)
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
	// The number of folded names is an estimate.
	if over := r.Input.OverflowedGroups; over < others*9/10 || over > others*11/10 {
		t.Errorf("%d groups overflowed, want about %d", over, others)
	}
}
