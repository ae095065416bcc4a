package optraceconnector

import (
	"math"

	"github.com/lightstep/go-expohisto/structure"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/optrace/optrace/op"
)

// seriesKey is what the points of a series have in common.
type seriesKey struct {
	operation, device string
	kind              op.Kind
	side              op.Side
}

// series are the sums of an operation on a device.
type series struct {
	key      seriesKey
	overflow bool // of all that have no series of their own
	start    pcommon.Timestamp

	duration    structure.Float64 // in seconds
	durationNS  sum
	memory      sum
	flops       float64
	knowsMemory bool // of an operation at least
	knowsFLOPs  bool
	busyNS      int64
	busy        intervals
	exemplars   []exemplar
}

// exemplar is an operation that a series points to.
type exemplar struct {
	trace op.TraceID
	span  op.SpanID
	end   int64 // Unix nanoseconds
	ns    int64 // it took
}

// The bounds of the intervals of a series and of a device: what comes late is seldom
// later than so many operations.
const (
	seriesIntervals = 64
	deviceIntervals = 1024
)

// device is how long a device was busy.
type device struct {
	id       string
	overflow bool
	start    pcommon.Timestamp
	busyNS   int64
	busy     intervals
}

// sum is a sum that stops at the largest number.
type sum int64

func (s *sum) add(n int64) {
	if n > 0 && int64(*s) > math.MaxInt64-n {
		*s = math.MaxInt64
		return
	}
	*s += sum(n)
}

func (s *series) add(e *op.Entry, exemplars int) {
	s.duration.Update(float64(e.Duration) / 1e9)
	s.durationNS.add(e.Duration)
	if e.MemoryBytes.Known {
		s.memory.add(e.MemoryBytes.V)
		s.knowsMemory = true
	}
	if e.FLOPs.Known {
		s.flops += float64(e.FLOPs.V)
		s.knowsFLOPs = true
	}
	if e.Start.Known {
		s.busyNS += s.busy.add(e.Start.V, e.Start.V+e.Duration)
	}
	if exemplars > 0 {
		s.point(e, exemplars)
	}
}

// point makes an operation an exemplar if it is one of the longest.
func (s *series) point(e *op.Entry, most int) {
	at := len(s.exemplars)
	if at == most {
		at = 0
		for i := range s.exemplars {
			if s.exemplars[i].ns < s.exemplars[at].ns {
				at = i
			}
		}
		if s.exemplars[at].ns >= e.Duration {
			return
		}
	} else {
		s.exemplars = append(s.exemplars, exemplar{})
	}
	s.exemplars[at] = exemplar{e.TraceID, e.SpanID, e.Start.V + e.Duration, e.Duration}
}

// reset begins another interval of delta points at a time.
func (s *series) reset(now pcommon.Timestamp) {
	s.duration.Clear()
	s.durationNS, s.memory, s.flops, s.busyNS, s.start = 0, 0, 0, 0, now
	s.knowsMemory, s.knowsFLOPs = false, false
}
