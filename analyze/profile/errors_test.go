package profile

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// naiveErrors counts failed entries, sorted so that the first of each error comes first.
func naiveErrors(entries []op.Entry) []Error {
	failed := slices.DeleteFunc(slices.Clone(entries), func(e op.Entry) bool { return !e.Failed })
	for i := range failed {
		if e := &failed[i]; opfile.IsLocal(e.TraceID) {
			e.TraceID = op.TraceID{}
			e.SpanID = op.SpanID{}
		}
	}
	start := func(e op.Entry) int64 { // unknown starts last
		if e.Start.Known {
			return e.Start.V
		}
		return 1<<63 - 1
	}
	ids := func(e op.Entry) []byte {
		if e.SpanID.IsZero() {
			return bytes.Repeat([]byte{0xff}, 25)
		}
		return append(e.TraceID[:], e.SpanID[:]...)
	}
	slices.SortFunc(failed, func(a, b op.Entry) int {
		return cmp.Or(cmp.Compare(start(a), start(b)), bytes.Compare(ids(a), ids(b)))
	})
	rows := []Error{}
	for _, e := range failed {
		i := slices.IndexFunc(rows, func(r Error) bool {
			return r.Text == e.Error && r.Operation == e.Operation && r.Side == e.Side.String()
		})
		if i < 0 {
			i = len(rows)
			rows = append(rows, Error{e.Error, e.Operation, e.Side.String(), 0,
				Occurrence{e.TraceID, e.SpanID, e.Start}})
		}
		rows[i].Count++
	}
	slices.SortFunc(rows, func(a, b Error) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Text, b.Text),
			strings.Compare(a.Operation, b.Operation),
			strings.Compare(a.Side, b.Side))
	})
	return rows
}

func sumOf[R any](rows []R, count func(*R) int64) (sum int64) {
	for i := range rows {
		sum += count(&rows[i])
	}
	return sum
}

// Rows of errors match a naive count for any parts, and add up to the errors of operations, also beyond the limit.
func TestErrors(t *testing.T) {
	cases.Seeds(t, 100, func(seed uint64, r *rand.Rand) {
		entries := tracetest.RandomEntries(r, 300)
		want := naiveErrors(entries)
		for _, limit := range []int{0, 1 + r.IntN(5)} {
			parts := []*Profile{New(Options{MaxGroups: limit}), New(Options{MaxGroups: limit}),
				New(Options{MaxGroups: limit})}
			for i := range entries {
				parts[r.IntN(len(parts))].Add(&entries[i])
			}
			for _, i := range []int{2, 1} {
				parts[0].Merge(parts[i])
			}
			got := parts[0].Sums()
			if limit == 0 {
				check.Equal(t, fmt.Sprintf("seed %d", seed), want, got.Errors)
			} else {
				others := slices.ContainsFunc(got.Errors, func(e Error) bool { return e.Text == key.Other })
				check.Equal(t, fmt.Sprintf("seed %d: others", seed), len(want) > limit, others)
				check.Equal(t, fmt.Sprintf("seed %d: rows", seed), min(len(want), limit+1), len(got.Errors))
			}
			check.Equal(t, fmt.Sprintf("seed %d, at most %d: sum", seed, limit),
				sumOf(got.Operations, func(o *Operation) int64 { return o.Errors }),
				sumOf(got.Errors, func(e *Error) int64 { return e.Count }))
		}
	})
}

// Bytes includes errors, and their texts are cut.
func TestErrorsTakeMemory(t *testing.T) {
	p := New(Options{Top: -1})
	before := p.Bytes()
	rec := op.Record{Entry: &op.Entry{Operation: "matmul", Failed: true, Error: strings.Repeat("x", 2*MaxText)}}
	if !LongRecord(&rec) {
		t.Fatal("the text of an error is none of those that figures are kept by")
	}
	CutTexts(&rec)
	p.Add(rec.Entry)
	if got := p.Bytes() - before; got < maxErrorText || got > 6*maxErrorText {
		t.Errorf("%d bytes for a text of %d", got, maxErrorText)
	}
	if text := p.Sums().Errors[0].Text; len(text) > maxErrorText+len(cutMark) || !strings.HasSuffix(text, cutMark) {
		t.Errorf("a text of %d bytes", len(text))
	}
}
