package profiler

import (
	"math"
	"strconv"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// SetEvent adds to the entry of a call that waits for an event the stream of the event and the Unix time of its
// recording. The stream is the one that a call such as cudaEventSynchronize waits for.
func SetEvent(e *op.Entry, stream, recorded op.Int) {
	add := func(key string, n op.Int) {
		if n.Known {
			e.Attrs = append(e.Attrs, op.Attr{Key: key, Value: strconv.FormatInt(n.V, 10), Type: op.AttrInt})
		}
	}
	if attrkey.IsStreamWait(e.Operation) {
		add(attrkey.WaitStream, stream)
	} else if stream.Known {
		e.Stream = stream
	}
	add(attrkey.WaitRecorded, recorded)
}

// Index returns n if it can number a device or stream, and else an unknown one: profilers write -1 or 1<<32-1.
func Index(n op.Int) op.Int {
	if n.V < 0 || n.V > math.MaxInt32 {
		return op.Int{}
	}
	return n
}
