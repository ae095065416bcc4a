package perfetto_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/perfetto"
	"github.com/optrace/optrace/internal/testing/perfettotest"
	"github.com/optrace/optrace/internal/testing/recordtest"
)

func BenchmarkReadPerfetto(b *testing.B) {
	const slices = 5000
	var text strings.Builder
	text.WriteString(`packet { trusted_packet_sequence_id: 1 sequence_flags: 1 interned_data {
		event_names { iid: 1 name: "matmul" }
		event_categories { iid: 1 name: "op" } debug_annotation_names { iid: 1 name: "tensor.op.name" }
		debug_annotation_names { iid: 2 name: "tensor.output.shape" } } }`)
	for i := range slices {
		fmt.Fprintf(&text, `packet { trusted_packet_sequence_id: 1 sequence_flags: 2 timestamp: %d
			track_event { type: 1 track_uuid: %d name_iid: 1
			category_iids: 1 debug_annotations { name_iid: 1 string_value: "matmul" } debug_annotations { name_iid: 2
			array_values { int_value: 64 } array_values { int_value: 256 } } } }
			packet { trusted_packet_sequence_id: 1 sequence_flags: 2 timestamp: %d
				track_event { type: 2 track_uuid: %[2]d } }`,
			10*i+1, i%4+1, 10*i+8)
	}
	recordtest.Benchmark(b, perfettotest.Encode(b, text.String()), slices, perfetto.Records)
}
