package opfile

import (
	"encoding/binary"

	"github.com/optrace/optrace/op"
)

const placeholder = "optrace\x00"

// PlaceholderTraceID returns a placeholder for an absent id, for formats that require one. Readers recognise it.
func PlaceholderTraceID(n uint64) (id op.TraceID) {
	copy(id[:], placeholder)
	binary.BigEndian.PutUint64(id[len(placeholder):], n)
	return id
}

// IsPlaceholder reports whether the id is a placeholder.
func IsPlaceholder(id op.TraceID) bool { return string(id[:len(placeholder)]) == placeholder }

const localTrace = "optrace\x01"

// LocalTraceID returns an id for the operations of a profile. Their parents tell how they nest. Such a trace is
// unknown to backends; it is no request, and its operations are not all that happened.
func LocalTraceID(n uint64) (id op.TraceID) {
	copy(id[:], localTrace)
	binary.BigEndian.PutUint64(id[len(localTrace):], n)
	return id
}

// IsLocal reports whether the id is one of LocalTraceID.
func IsLocal(id op.TraceID) bool { return string(id[:len(localTrace)]) == localTrace }
