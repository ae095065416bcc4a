package otlp_test

import (
	"bytes"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/internal/encoding/otlp"
	"github.com/optrace/optrace/internal/spantest"
)

// FuzzOTLP makes operations of its input and checks both OTLP formats against
// the oracles.
func FuzzOTLP(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{1, 2, 3, 5, 8, 13, 21}, 40))
	f.Add(bytes.Repeat([]byte{255, 0}, 500))
	f.Fuzz(func(t *testing.T, input []byte) {
		const maxSpans = 8
		r := &spantest.Random{Data: input}
		var stubs tracetest.SpanStubs
		for len(stubs) == 0 || len(r.Data) > 0 && len(stubs) < maxSpans {
			stubs = append(stubs, r.Operation())
		}
		spans := stubs.Snapshots()
		for _, f := range []encoding.Format{otlp.Proto, otlp.JSON} {
			if _, shortened := encode(t, f, spans); shortened > 0 {
				t.Skip("a span is too large")
			}
		}
		checkOTLP(t, spans)
	})
}
