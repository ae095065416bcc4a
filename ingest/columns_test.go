package ingest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/ingest/internal/recordtest"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/parquet"
)

// oneByOne is a Source that knows nothing of columns and of fields that are left out.
type oneByOne struct{ analyze.Source }

// randomFiles writes random operations and spans as entries JSON Lines and as Parquet,
// and returns the paths. Some operations repeat, and most have nothing unusual; with an
// odd seed none has, and many take as long as another.
func randomFiles(t *testing.T, seed uint64, n int) (entries, parquets string) {
	t.Helper()
	var lines, table bytes.Buffer
	e, p := op.NewWriter(&lines, nil), parquet.NewWriter(&table)
	r := recordtest.Random{Rand: rand.New(rand.NewPCG(seed, 1))}
	var before []*op.Entry
	for range n {
		rec := r.Record()
		if rec.Gap != nil || rec.Batch != nil || rec.Resource != nil {
			continue
		}
		if rec.Span != nil {
			check(t, e.Span(rec.Span), p.Span(rec.Span))
			continue
		}
		rec.Entry = usual(r, rec.Entry, seed%2 > 0)
		if r.IntN(4) == 0 { // there are new ones throughout
			rec.Entry.Operation = fmt.Sprintf("op %d", len(before)/20)
		}
		if n := len(before); n > 0 && r.IntN(50) == 0 {
			rec.Entry = before[max(0, n-1-r.IntN(r.IntN(n)+1))]
		}
		before = append(before, rec.Entry)
		check(t, e.Entry(rec.Entry), p.Entry(rec.Entry))
	}
	check(t, e.Flush(), p.Close())
	dir := t.TempDir()
	return write(t, filepath.Join(dir, "ops.jsonl"), lines.Bytes()), write(t, filepath.Join(dir, "ops.parquet"), table.Bytes())
}

// usual makes a random entry more like others, so that rows have many, and one of all or of
// most of them as columns may hold it.
func usual(r recordtest.Random, e *op.Entry, all bool) *op.Entry {
	e.Operation = []string{"matmul", "relu", "memcpy HtoD", "memcpy DtoD", "all_reduce", e.Operation}[r.IntN(6)]
	e.DeviceID = []string{"cuda:0", "cuda:1", "", e.DeviceID}[r.IntN(4)]
	if all || r.IntN(8) > 0 {
		e.Warn, e.AdjustedCount, e.Failed, e.Error = 0, 0, false, ""
		e.Duration %= 1000
	}
	if all {
		e.Links, e.Start = nil, op.Known(e.Start.V%3)
		e.Duration *= 1 + r.Int64N(50)
	}
	if e.DType == "odd type" {
		e.DType = op.F16
	}
	if e.Kind != op.KindCollective { // a file of entries keeps the rule of these only
		e.KindRule = op.RuleDefault
	}
	e.Extra = nil
	return e
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func keys(t *testing.T, list string) []analyze.Key {
	t.Helper()
	keys, err := analyze.ParseKeys(list)
	check(t, err)
	return keys
}

// figures returns a report, but for what it says of files.
func figures(t *testing.T, src analyze.Source, opts analyze.Options) string {
	t.Helper()
	r, err := analyze.Run(t.Context(), src, opts)
	check(t, err)
	r.Input.Bytes, r.Input.Formats = 0, nil
	text, err := json.MarshalIndent(r, "", " ")
	check(t, err)
	return string(text)
}

// The figures are the same whether they are taken from columns, from the entries that
// the columns hold, or from entries JSON Lines.
func TestFiguresOfColumns(t *testing.T) {
	for seed := range cases.Some(t, 1, 4) {
		entries, parquets := randomFiles(t, uint64(seed), cases.Count(t, 600, 6000))
		for _, opts := range []analyze.Options{
			{SumsOnly: true, Workers: 1},
			{SumsOnly: true, Workers: 2, MaxGroups: 7, Top: 3, HotspotBytes: -1},
			{SumsOnly: true, Workers: 2, Top: -1},
			{SumsOnly: true, Workers: 1, Top: 40, HotspotBytes: 1},
			{SumsOnly: true, Workers: 2, By: keys(t, "device")},
			{SumsOnly: true, Workers: 1, By: keys(t, "shape,stream")},
			{SumsOnly: true, Workers: 2, By: keys(t, "operation,kind,device,rank,stream,shape,step,service,trace"), MaxGroups: 99},
			{SumsOnly: true, Workers: 2, By: keys(t, "step"), MaxGroups: 5},
			{Workers: 2},
			{Workers: 1, By: keys(t, "operation,step")},
			{Workers: 2, By: keys(t, "root,device")},
			{SumsOnly: true, Workers: 1, By: keys(t, "root")},
		} {
			name := fmt.Sprintf("seed %d, %+v", seed, opts)
			want := figures(t, oneByOne{ingest.Open(parquets)}, opts)
			if diff := cmp.Diff(want, figures(t, ingest.Open(parquets), opts)); diff != "" {
				t.Errorf("%s (-entries of Parquet +columns of Parquet):\n%s", name, diff)
			}
			if diff := cmp.Diff(want, figures(t, ingest.Open(entries), opts)); diff != "" {
				t.Errorf("%s (-Parquet +JSON Lines):\n%s", name, diff)
			}
		}
	}
}
