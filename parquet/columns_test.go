package parquet

import (
	"strings"
	"testing"
)

// The constants of columns count as the schema does.
func TestColumns(t *testing.T) {
	paths := newSchema().Columns()
	if len(paths) != numColumns {
		t.Fatalf("%d columns, %d constants", len(paths), numColumns)
	}
	for col, want := range map[int]string{
		colRecord: "record", colStep: "step", colInputShapes: "input_shapes.list.element.list.element", colKindRule: "kind_rule",
		colTraceID: "trace_id", colFailed: "failed", colError: "error", colAttrKeys: "attrs.key_value.key", colAttrValues: "attrs.key_value." +
			"value",
		colWarn: "warn.list.element", colCollectiveName: "collective.name", colCollectiveOutElements: "collective.out_elements", colName: "name",
		colGapDropped: "gap.dropped", colBatchWriter: "batch.writer", colBatchEntries: "batch.entries",
		colLinkTraceIDs: "links.list.element.trace_id", colLinkWeights: "links.list.element.weight",
		colExtra: "extra",
	} {
		if got := strings.Join(paths[col], "."); got != want {
			t.Errorf("column %d is %s, want %s", col, got, want)
		}
	}
}
