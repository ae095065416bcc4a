package parquet

import (
	"strings"
	"testing"
)

// The columns stay where they are; new ones come last.
func TestColumns(t *testing.T) {
	const want = "record step operation device_id input_shapes output_shape duration_ns output_elements memory_bytes kind kind_rule dtype " +
		"start_unix_ns launch_unix_ns stream"
	var names []string
	for _, path := range newSchema().Columns() {
		names = append(names, path[0])
	}
	if got := strings.Join(names, " "); !strings.HasPrefix(got, want) {
		t.Errorf("columns %s", got)
	}
}
