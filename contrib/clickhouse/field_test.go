package clickhouse

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/model/opfields"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/parquet"
	"github.com/optrace/optrace/render/csv"
)

// Every format keeps a field that is added to the table of fields.
func TestAddedField(t *testing.T) {
	kept := make(map[op.SpanID]*op.Int) // in place of a field of Entry
	before := opfields.Entry
	opfields.Entry = append(slices.Clip(before), opfields.Field[op.Entry]{Name: "priority",
		At: func(e *op.Entry) *op.Int {
			if kept[e.SpanID] == nil {
				kept[e.SpanID] = new(op.Int)
			}
			return kept[e.SpanID]
		}})
	t.Cleanup(func() { opfields.Entry = before })
	id := op.SpanID{1}
	e := &op.Entry{Operation: "matmul", Kind: op.KindCompute, Duration: 1000, TraceID: op.TraceID{2}, SpanID: id}
	written := func() *op.Entry {
		kept[id] = &op.Int{V: 7, Known: true}
		return e
	}
	verify := func(format string, err error) {
		if err != nil || kept[id] == nil || *kept[id] != op.Known(7) {
			t.Errorf("%s: read as %v, %v", format, kept[id], err)
		}
	}

	line := append(bytes.TrimSuffix(written().AppendJSON(nil), []byte("}")), `,"priority":7}`...)
	clear(kept)
	_, err := entries.DecodeLine(line)
	verify("entries: "+string(line), err)
	clear(kept)
	_, err = entries.NewReader(bytes.NewReader(append(line, '\n')), "lines").Next()
	verify("entries, read", err)

	var table bytes.Buffer
	w := check.Must(csv.NewEntryWriter(&table, csv.Options{}))(t)
	if err := w.Write(written()); err != nil || w.Flush() != nil || !strings.Contains(table.String(), ",priority\n") ||
		!strings.HasSuffix(table.String(), ",7\n") {
		t.Errorf("CSV: %s %v", table.String(), err)
	}

	var file bytes.Buffer
	p := parquet.NewWriter(&file)
	if err := p.Entry(written()); err != nil || p.Close() != nil {
		t.Error(err)
	}
	clear(kept)
	for _, err := range parquet.RecordsAt(bytes.NewReader(file.Bytes()), int64(file.Len()), "table") {
		verify("Parquet", err)
	}

	if ddl := (Schema{}).Statements()[0]; !strings.Contains(ddl, "\n  priority Nullable(Int64)\n") {
		t.Errorf("ClickHouse: %s", ddl)
	}
	var r row
	r.set(op.Record{Entry: written()})
	list := columns()
	if v := r.values(nil, list); *v[len(v)-1].(*int64) != 7 {
		t.Errorf("ClickHouse: %v", v)
	}
}
