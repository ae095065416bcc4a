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

// source is the series of a resource.
type source struct {
	number   uint64 // tells it from others
	resource pcommon.Resource
	cfg      *Metrics
	now      pcommon.Timestamp // of what is being added
	series   table[seriesKey, series]
	devices  table[string, device]
}

func newSource(number uint64, r pcommon.Resource, cfg *Metrics) *source {
	s := &source{number: number, resource: pcommon.NewResource(), cfg: cfg}
	r.CopyTo(s.resource)
	s.series = table[seriesKey, series]{limit: cfg.SeriesLimit, own: seriesKey.clone, begin: s.beginSeries}
	s.devices = table[string, device]{limit: cfg.SeriesLimit, own: strings.Clone, begin: s.beginDevice}
	return s
}

// known returns what is known of an operation, and begins its series. Names that are
// very long are cut.
func (s *source) known(e *op.Entry, now pcommon.Timestamp) known {
	e.Operation, e.DeviceID = span.CutText(e.Operation), span.CutText(e.DeviceID)
	s.now = now
	k := known{series: s.series.find(seriesKey{e.Operation, e.DeviceID, e.Kind, e.Side}), memory: e.MemoryBytes, flops: e.FLOPs}
	if e.DeviceID != "" && e.Side != op.SideHost {
		k.device = s.devices.find(e.DeviceID)
	}
	return k
}

func (s *source) add(k *known, of ptrace.Span) {
	start, duration := pdataop.Times(of)
	k.series.add(k, start, duration, s.cfg.Exemplars, of)
	if k.device != nil && start.Known {
		k.device.busyNS += k.device.busy.add(start.V, start.V+duration)
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
