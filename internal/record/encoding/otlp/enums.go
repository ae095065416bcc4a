package otlp

import (
	"math"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// kindNumber returns OTLP's number of a kind, 0 if unspecified. The SDK has the same numbers.
func kindNumber(k trace.SpanKind) uint64 {
	if k < trace.SpanKindInternal || k > trace.SpanKindConsumer {
		return 0
	}
	return uint64(k)
}

// statusNumber returns OTLP's number of a status code: Ok and Error change places.
func statusNumber(c codes.Code) uint64 {
	switch c {
	case codes.Ok:
		return 1
	case codes.Error:
		return 2
	}
	return 0
}

func unixNano(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

func count32(n int) uint64 { return uint64(min(max(0, int64(n)), math.MaxUint32)) }

// flags returns the W3C flags with OTLP's two bits above them: the origin is known, and it is remote.
func flags(f trace.TraceFlags, from trace.SpanContext) uint32 {
	const known, remote = 0x100, 0x200
	n := uint32(f) | known
	if from.IsRemote() {
		n |= remote
	}
	return n
}
