package optrace_test

import (
	"bytes"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// FuzzOTLP makes operations of its input and checks both OTLP formats against
// the oracles.
func FuzzOTLP(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{1, 2, 3, 5, 8, 13, 21}, 40))
	f.Add(bytes.Repeat([]byte{255, 0}, 500))
	f.Fuzz(func(t *testing.T, input []byte) {
		const maxSpans = 8
		e := &entropy{bytes: input}
		var stubs tracetest.SpanStubs
		for len(stubs) == 0 || len(e.bytes) > 0 && len(stubs) < maxSpans {
			stubs = append(stubs, e.operation())
		}
		checkOTLP(t, stubs.Snapshots())
	})
}
