package otlp

import (
	"math"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// kindNumber returns OTLP's number of a kind, 0 if it is not specified: that of the SDK.
func kindNumber(k trace.SpanKind) uint64 {
	if k < trace.SpanKindInternal || k > trace.SpanKindConsumer {
		return 0
	}
	return uint64(k)
}

// statusNumber returns OTLP's number of a status code, in which Ok and Error
// have changed places.
func statusNumber(c codes.Code) uint64 {
	switch c {
	case codes.Ok:
		return 1
	case codes.Error:
		return 2
	}
	return 0
}

// unixNano returns Unix nanoseconds, 0 for times before 1970.
func unixNano(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

// count32 returns a count as the 32 bits that it has in OTLP.
func count32(n int) uint64 { return uint64(min(max(0, int64(n)), math.MaxUint32)) }

// flags returns the W3C flags and two bits above them: that it is known whether
// the context came from another process, and whether it did.
func flags(f trace.TraceFlags, from trace.SpanContext) uint32 {
	const known, remote = 0x100, 0x200
	n := uint32(f) | known
	if from.IsRemote() {
		n |= remote
	}
	return n
}
