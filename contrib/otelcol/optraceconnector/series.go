package optraceconnector

import (
	"math"
	"slices"

	"github.com/lightstep/go-expohisto/structure"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/optrace/optrace/op"
)

// seriesKey is common to the points of a series. The key of a device has no operation.
type seriesKey struct {
	operation, device string
	kind              op.Kind
	side              op.Side
}

// series has the sums of an operation on a device, or the busy time of a device.
type series struct {
	key      seriesKey
	overflow bool // shared by operations beyond the limits
	start    pcommon.Timestamp

	duration           structure.Float64 // in seconds
	durationNS, memory sum
	flops              float64
	knowsMemory        bool // of at least one operation
	knowsFLOPs         bool
	busyNS             int64
	busy               intervals
	exemplars          []exemplar
}

// exemplar is an operation linked from a series.
type exemplar struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
	end   pcommon.Timestamp
	ns    int64 // duration
}

// Limits of the intervals of a series and of a device. Late operations are rarely later than this.
const (
	seriesIntervals = 64
	deviceIntervals = 1024
)

// sum is a sum that saturates at the largest number.
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
	s.addBusy(e)
	if exemplars > 0 {
		s.point(e, exemplars)
	}
}

func (s *series) addBusy(e *op.Entry) {
	if e.Start.Known {
		s.busyNS += s.busy.add(e.Start.V, e.Start.V+e.Duration)
	}
}

// point makes an operation an exemplar unless there are enough longer ones.
func (s *series) point(e *op.Entry, most int) {
	if len(s.exemplars) == most {
		shortest := 0
		for i := range s.exemplars {
			if s.exemplars[i].ns < s.exemplars[shortest].ns {
				shortest = i
			}
		}
		if e.Duration <= s.exemplars[shortest].ns {
			return
		}
		s.exemplars = slices.Delete(s.exemplars, shortest, shortest+1)
	}
	s.exemplars = append(s.exemplars,
		exemplar{pcommon.TraceID(e.TraceID), pcommon.SpanID(e.SpanID), pcommon.Timestamp(e.End().V), e.Duration})
}

// reset starts another interval of delta points.
func (s *series) reset(now pcommon.Timestamp) {
	s.duration.Clear()
	s.durationNS = 0
	s.memory = 0
	s.flops = 0
	s.busyNS = 0
	s.start = now
	s.knowsMemory, s.knowsFLOPs = false, false
}
