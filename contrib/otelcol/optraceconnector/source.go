package optraceconnector

import (
	"slices"

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
	// series are of operations, devices of what ran on a device.
	series, devices table[seriesKey, series]
}

// newSource begins the series of a resource, which all of its attributes tell from others, or of those beyond the limit.
func newSource(r pcommon.Resource, overflow bool, cfg *Metrics) *source {
	s := &source{resource: pcommon.NewResource(), cfg: cfg}
	if overflow {
		s.resource.Attributes().PutBool(keyOverflow, true)
	} else {
		r.CopyTo(s.resource)
	}
	table := func(intervals int) table[seriesKey, series] {
		return table[seriesKey, series]{limit: cfg.SeriesLimit, begin: func(key seriesKey, overflow bool) *series {
			return s.begin(key, overflow, intervals)
		}}
	}
	s.series, s.devices = table(seriesIntervals), table(deviceIntervals)
	return s
}

// add adds an operation. Names that are very long are cut.
func (s *source) add(e *op.Entry, now pcommon.Timestamp) {
	name, device := span.CutText(e.Operation), span.CutText(e.DeviceID)
	s.now = now
	s.series.find(seriesKey{name, device, e.Kind, e.Side}).add(e, s.cfg.Exemplars)
	if device != "" && e.Side != op.SideHost {
		s.devices.find(seriesKey{device: device}).addBusy(e)
	}
}

func (s *source) begin(key seriesKey, overflow bool, most int) *series {
	begun := &series{key: key, overflow: overflow, start: s.now, busy: intervals{most: most}}
	begun.duration.Init(structure.NewConfig(structure.WithMaxSize(s.cfg.MaxBuckets)))
	return begun
}

// reset begins another interval of delta points. Series of which there was nothing in
// the last one end.
func (s *source) reset(now pcommon.Timestamp) {
	s.series.keep(func(x *series) bool { return x.duration.Count() > 0 })
	s.devices.keep(func(d *series) bool { return d.busyNS != 0 })
	for _, x := range slices.Concat(s.series.all, s.devices.all) {
		x.reset(now)
	}
}
