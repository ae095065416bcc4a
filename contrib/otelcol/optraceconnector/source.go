package optraceconnector

import (
	"math"
	"strings"

	"github.com/lightstep/go-expohisto/structure"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/contrib/otelcol/internal/pdataop"
	"github.com/optrace/optrace/internal/span"
	"github.com/optrace/optrace/op"
)

// source is the series of a resource, in the order in which they were begun.
type source struct {
	number   uint64 // tells it from others
	resource pcommon.Resource
	cfg      *Metrics

	series   []*series
	byKey    map[seriesKey]*series
	rest     *series // of operations beyond the limit; nil for none
	devices  []*device
	byDevice map[string]*device
	restOf   *device // of devices beyond the limit; nil for none
}

func newSource(number uint64, r pcommon.Resource, cfg *Metrics) *source {
	s := &source{number: number, resource: pcommon.NewResource(), cfg: cfg}
	r.CopyTo(s.resource)
	s.forget()
	return s
}

// forget ends all series.
func (s *source) forget() {
	s.series, s.byKey, s.rest = nil, make(map[seriesKey]*series), nil
	s.devices, s.byDevice, s.restOf = nil, make(map[string]*device), nil
}

// known returns what is known of an operation, and begins its series. Names that are
// very long are cut.
func (s *source) known(e *op.Entry, now pcommon.Timestamp) known {
	e.Operation, e.DeviceID = span.CutText(e.Operation), span.CutText(e.DeviceID)
	k := known{series: s.find(e, now), memory: e.MemoryBytes, flops: e.FLOPs}
	if e.DeviceID != "" && e.Side != op.SideHost {
		k.device = s.device(e.DeviceID, now)
	}
	return k
}

// add adds an operation, of a span.
func (s *source) add(k *known, of ptrace.Span) {
	start, duration := pdataop.Times(of)
	k.series.add(k, start, duration, s.cfg.Exemplars, of)
	if k.device != nil && start.Known {
		k.device.busyNS += k.device.busy.add(start.V, start.V+duration)
	}
}

// find returns the series of an operation.
func (s *source) find(e *op.Entry, now pcommon.Timestamp) *series {
	key := seriesKey{e.Operation, e.DeviceID, e.Kind, e.Side}
	if found := s.byKey[key]; found != nil {
		return found
	}
	if len(s.byKey) >= s.cfg.SeriesLimit {
		if s.rest == nil {
			s.rest = s.begin(now)
			s.rest.overflow = true
		}
		return s.rest
	}
	begun := s.begin(now)
	key.operation, key.device = strings.Clone(key.operation), strings.Clone(key.device)
	begun.key = key
	s.byKey[key] = begun
	return begun
}

func (s *source) begin(now pcommon.Timestamp) *series {
	begun := &series{start: now, shortest: math.MaxInt64, busy: intervals{most: seriesIntervals}}
	begun.duration.Init(structure.NewConfig(structure.WithMaxSize(s.cfg.MaxBuckets)))
	s.series = append(s.series, begun)
	return begun
}

// device returns the device with an id.
func (s *source) device(id string, now pcommon.Timestamp) *device {
	if found := s.byDevice[id]; found != nil {
		return found
	}
	full := len(s.byDevice) >= s.cfg.SeriesLimit
	if full && s.restOf != nil {
		return s.restOf
	}
	begun := &device{start: now, overflow: full, busy: intervals{most: deviceIntervals}}
	s.devices = append(s.devices, begun)
	if full {
		s.restOf = begun
		return begun
	}
	begun.id = strings.Clone(id)
	s.byDevice[begun.id] = begun
	return begun
}

// reset begins another interval of delta points. Series of which there was nothing in
// the last one end.
func (s *source) reset(now pcommon.Timestamp) {
	old, oldDevices := s.series, s.devices
	s.forget()
	for _, x := range old {
		if x.duration.Count() == 0 {
			continue
		}
		x.reset(now)
		s.series = append(s.series, x)
		if x.overflow {
			s.rest = x
		} else {
			s.byKey[x.key] = x
		}
	}
	for _, d := range oldDevices {
		if d.busyNS == 0 {
			continue
		}
		d.busyNS, d.start = 0, now
		s.devices = append(s.devices, d)
		if d.overflow {
			s.restOf = d
		} else {
			s.byDevice[d.id] = d
		}
	}
}
