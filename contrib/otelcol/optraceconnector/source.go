package optraceconnector

import (
	"math"
	"strings"

	"github.com/lightstep/go-expohisto/structure"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/optrace/optrace/internal/span"
	"github.com/optrace/optrace/op"
)

// source is the series of a resource.
type source struct {
	resource pcommon.Resource
	cfg      *Metrics
	now      pcommon.Timestamp // of what is being added
	series   table[seriesKey, series]
	devices  table[string, device]
}

func newSource(r pcommon.Resource, cfg *Metrics) *source {
	s := &source{resource: pcommon.NewResource(), cfg: cfg}
	r.CopyTo(s.resource)
	s.series = table[seriesKey, series]{limit: cfg.SeriesLimit, own: seriesKey.clone, begin: s.beginSeries}
	s.devices = table[string, device]{limit: cfg.SeriesLimit, own: strings.Clone, begin: s.beginDevice}
	return s
}

// add adds an operation. Names that are very long are cut.
func (s *source) add(e *op.Entry, now pcommon.Timestamp) {
	e.Operation, e.DeviceID = span.CutText(e.Operation), span.CutText(e.DeviceID)
	s.now = now
	s.series.find(seriesKey{e.Operation, e.DeviceID, e.Kind, e.Side}).add(e, s.cfg.Exemplars)
	if e.DeviceID == "" || e.Side == op.SideHost {
		return
	}
	if d := s.devices.find(e.DeviceID); e.Start.Known {
		d.busyNS += d.busy.add(e.Start.V, e.Start.V+e.Duration)
	}
}

func (s *source) beginSeries(key seriesKey, overflow bool) *series {
	begun := &series{overflow: overflow, start: s.now, shortest: math.MaxInt64, busy: intervals{most: seriesIntervals}}
	if !overflow {
		begun.key = key
	}
	begun.duration.Init(structure.NewConfig(structure.WithMaxSize(s.cfg.MaxBuckets)))
	return begun
}

func (s *source) beginDevice(id string, overflow bool) *device {
	begun := &device{overflow: overflow, start: s.now, busy: intervals{most: deviceIntervals}}
	if !overflow {
		begun.id = id
	}
	return begun
}

// reset begins another interval of delta points. Series of which there was nothing in
// the last one end.
func (s *source) reset(now pcommon.Timestamp) {
	s.series.keep(func(x *series) bool { return x.duration.Count() > 0 })
	for _, x := range s.series.all {
		x.reset(now)
	}
	s.devices.keep(func(d *device) bool { return d.busyNS != 0 })
	for _, d := range s.devices.all {
		d.busyNS, d.start = 0, now
	}
}
