package opfile

import (
	"encoding/binary"

	"github.com/optrace/optrace/op"
)

// placeholder starts the ids of traces that stand for no id.
const placeholder = "optrace\x00"

// PlaceholderTraceID returns an id for operations that have none, for formats
// that require one. Readers recognise it.
func PlaceholderTraceID(n uint64) (id op.TraceID) {
	copy(id[:], placeholder)
	binary.BigEndian.PutUint64(id[len(placeholder):], n)
	return id
}

// IsPlaceholder reports whether the id stands for none.
func IsPlaceholder(id op.TraceID) bool { return string(id[:len(placeholder)]) == placeholder }

// localTrace starts the ids of traces that no backend knows.
const localTrace = "optrace\x01"

// LocalTraceID returns an id for the operations of a profile, which say by it and
// their parents how they nest. Nothing else is a part of such a trace: it is no
// request, and its operations are not all that happened.
func LocalTraceID(n uint64) (id op.TraceID) {
	copy(id[:], localTrace)
	binary.BigEndian.PutUint64(id[len(localTrace):], n)
	return id
}

// IsLocal reports whether the id is one of LocalTraceID.
func IsLocal(id op.TraceID) bool { return string(id[:len(localTrace)]) == localTrace }
