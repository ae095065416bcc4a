package optraceconnector

import (
	"math"
	"strings"

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

func (k seriesKey) clone() seriesKey {
	k.operation, k.device = strings.Clone(k.operation), strings.Clone(k.device)
	return k
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
	shortest    int64 // of the exemplars, once there are enough
}

// exemplar is an operation that a series points to.
type exemplar struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
	end   pcommon.Timestamp
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

// add adds an operation.
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
	if len(s.exemplars) < exemplars || e.Duration > s.shortest {
		s.point(e, exemplars)
	}
}

// point makes an operation an exemplar, in place of the shortest one if there are enough.
func (s *series) point(e *op.Entry, most int) {
	x := exemplar{pcommon.TraceID(e.TraceID), pcommon.SpanID(e.SpanID), pcommon.Timestamp(e.End().V), e.Duration}
	if len(s.exemplars) < most {
		s.exemplars = append(s.exemplars, x)
	} else {
		s.exemplars[s.shortestExemplar()] = x
	}
	if s.shortest = math.MaxInt64; len(s.exemplars) == most {
		s.shortest = s.exemplars[s.shortestExemplar()].ns
	}
}

func (s *series) shortestExemplar() (at int) {
	for i := range s.exemplars {
		if s.exemplars[i].ns < s.exemplars[at].ns {
			at = i
		}
	}
	return at
}

// reset begins another interval of delta points at a time.
func (s *series) reset(now pcommon.Timestamp) {
	s.duration.Clear()
	s.durationNS, s.memory, s.flops, s.busyNS, s.start = 0, 0, 0, 0, now
	s.knowsMemory, s.knowsFLOPs = false, false
}
