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

// hostileEntry breaks what readers hold to: it has values at the limits of
// their types and outside of all enumerations.
func hostileEntry(r *rand.Rand) op.Entry {
	limit := func() int64 {
		return tracetest.Pick(r, 0, 1, -1, math.MinInt64, math.MaxInt64, math.MinInt64+1, math.MaxInt64-1, r.Int64())
	}
	maybe := func() op.Int { return op.Int{V: limit(), Known: r.IntN(3) > 0} }
	text := func() string {
		return tracetest.Pick(r, "", "a", "a\x00b", "\xff\xfe", "a;b\n", "(other)", "unknown", "ncclX", "memcpy dtoh")
	}
	return op.Entry{
		Step: maybe(), Operation: text(), Kind: op.Kind(r.Uint32()), KindRule: op.KindRule(r.Uint32()), Side: op.Side(r.Uint32()),
		DeviceID: text(), Stream: maybe(), Rank: maybe(), Start: maybe(), Duration: limit(), Launch: maybe(),
		InputShapes: tracetest.Pick(r, nil, []op.Shape{}, []op.Shape{nil, {math.MinInt64}}),
		OutputShape: tracetest.Pick(r, nil, op.Shape{}, op.Shape{-9}),
		DType:       op.DType(text()), OutputElements: maybe(), MemoryBytes: maybe(), FLOPs: maybe(),
		TraceID: op.TraceID{byte(r.IntN(2))}, SpanID: op.SpanID{byte(r.IntN(4))}, ParentSpanID: op.SpanID{byte(r.IntN(4))},
		Root: text(), Service: text(), Failed: r.IntN(2) == 0, Error: text(),
		AdjustedCount: tracetest.Pick(r, 0, 1, 1e300, -1, 0.5, math.NaN(), math.Inf(1), math.Inf(-1)),
		Collective: tracetest.Pick(r, nil, &op.Collective{Name: text(), Group: text(), Sequence: maybe(), GroupSize: maybe(),
			InElements: maybe()}),
		Warn: op.Warning(r.Uint32()),
	}
}

// Whatever is in the entries, there is a report and it is JSON, in which NaN
// and infinities cannot be written.
func TestReportOnHostileEntries(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		var records []op.Record
		for range r.IntN(30) {
			e := hostileEntry(r)
			records = append(records, op.Record{Entry: &e})
		}
		for range r.IntN(3) {
			records = append(records, op.Record{Batch: &op.Batch{Sequence: r.Int64(), Entries: r.Int64() - math.MaxInt64/2}})
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

// D2: names without end take the rows that the limit says and one for all others, and
// nothing of what they add up to is lost.
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
	// The number of the others is an estimate.
	if over := r.Input.OverflowedGroups; over < others*9/10 || over > others*11/10 {
		t.Errorf("%d groups overflowed, want about %d", over, others)
	}
}
