package otlp_test

import (
	"bytes"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/internal/testing/recordtest"
)

// The benchmarks read batches of operations like a recording's.
const (
	batches   = 20
	batchSize = 500
)

func batchJSON() []byte {
	text := []byte(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{` +
		`"stringValue":"trainer"}}]},"scopeSpans":[{"scope":{"name":"torch"},"spans":[`)
	for i := range batchSize {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, `{"traceId":"4d02081d276cbb954beb68be77c6566e","spanId":"%016x",`+
			`"parentSpanId":"ca979163b1fe8ba7",`+
			`"name":"matmul","kind":1,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[`, i+1,
			1795224124978150123+i, 1795224124978161122+i)
		text = fmt.Appendf(text, `{"key":"tensor.op.name","value":{"stringValue":"matmul"}},{"key":"tensor.op.kind",`+
			`"value":{"stringValue":"compute"}},`+
			`{"key":"tensor.device.id","value":{"stringValue":"cuda:%d"}},{"key":"tensor.step","value":{`+
			`"intValue":"%d"}},`, i%4, i)
		text = append(text, `{"key":"tensor.input.shapes","value":{"arrayValue":{"values":[{"stringValue":"64x784"},`+
			`{"stringValue":"784x256"}]}}},`+
			`{"key":"tensor.output.shape","value":{"arrayValue":{"values":[{"intValue":"64"},{"intValue":"256"}]}}}],`+
			`"status":{},"flags":257}`...)
	}
	return append(text, "]}]}]}\n"...)
}

func BenchmarkReadOTLPJSON(b *testing.B) {
	recordtest.Benchmark(b, bytes.Repeat(batchJSON(), batches), batches*batchSize, otlp.JSONRecords)
}

func BenchmarkReadOTLPProto(b *testing.B) {
	message := check.Must(proto.Marshal(otlptest.TracesJSON(b, batchJSON())))(b)
	recordtest.Benchmark(b, bytes.Repeat(framed(message), batches), batches*batchSize, otlp.FramedRecords)
}
