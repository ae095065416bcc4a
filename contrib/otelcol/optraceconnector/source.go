package optraceconnector

import (
	"slices"

	"github.com/lightstep/go-expohisto/structure"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/release"
	"github.com/optrace/optrace/op"
)

const _ = release.ModulesMustBeOfOneReleaseV0_3_0

// source has the series of a resource.
type source struct {
	resource pcommon.Resource
	cfg      *Metrics
	// series are operations; devices are all operations on a device.
	series, devices table[seriesKey, series]
}

// newSource starts the series of a resource. All attributes identify a resource; overflow marks the shared
// one beyond the limit.
func newSource(r pcommon.Resource, overflow bool, cfg *Metrics) *source {
	of := table[seriesKey, series]{limit: cfg.SeriesLimit}
	s := &source{resource: pcommon.NewResource(), cfg: cfg, series: of, devices: of}
	if overflow {
		s.resource.Attributes().PutBool(keyOverflow, true)
	} else {
		r.CopyTo(s.resource)
	}
	return s
}

// add adds an operation. It truncates very long names.
func (s *source) add(e *op.Entry, now pcommon.Timestamp) {
	name := span.CutText(e.Operation)
	device := span.CutText(e.DeviceID)
	s.find(&s.series, seriesKey{name, device, e.Kind, e.Side}, seriesIntervals, now).add(e, s.cfg.Exemplars)
	if device != "" && e.Side != op.SideHost {
		s.find(&s.devices, seriesKey{device: device}, deviceIntervals, now).addBusy(e)
	}
}

func (s *source) find(in *table[seriesKey, series], key seriesKey, most int, now pcommon.Timestamp) *series {
	return in.find(key, func(overflow bool) *series {
		begun := &series{key: key, overflow: overflow, start: now, busy: intervals{most: most}}
		begun.duration.Init(structure.NewConfig(structure.WithMaxSize(s.cfg.MaxBuckets)))
		return begun
	})
}

// reset starts another interval of delta points. Series without a point in the last interval end.
func (s *source) reset(now pcommon.Timestamp) {
	s.series.keep(func(x *series) bool { return x.duration.Count() > 0 })
	s.devices.keep(func(d *series) bool { return d.busyNS != 0 })
	for _, x := range slices.Concat(s.series.all, s.devices.all) {
		x.reset(now)
	}
}
