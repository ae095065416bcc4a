package optraceconnector

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// keyOverflow marks the series of operations beyond the limits.
const keyOverflow = "otel.metric.overflow"

const scopeName = "github.com/optrace/optrace/contrib/otelcol/optraceconnector"

type writer struct {
	temporality pmetric.AggregationTemporality
	now         pcommon.Timestamp

	duration                       pmetric.ExponentialHistogramDataPointSlice
	memory, flops, busy, deviceUse pmetric.NumberDataPointSlice
}

func (w *writer) write(out pmetric.Metrics, s *source) {
	rm := out.ResourceMetrics().AppendEmpty()
	s.resource.CopyTo(rm.Resource())
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().SetName(scopeName)
	sm.Scope().SetVersion(optrace.Version)
	h := metric(sm, "tensor.op.duration", "s", "Duration of tensor operations.").SetEmptyExponentialHistogram()
	h.SetAggregationTemporality(w.temporality)
	w.duration = h.DataPoints()
	w.memory = w.sum(sm, "tensor.op.memory", "By", "Memory that tensor operations state.")
	w.flops = w.sum(sm, "tensor.op.flops", "{operation}", "Floating-point operations that tensor operations state.")
	w.busy = w.sum(sm, "tensor.op.busy_time", "s",
		"Time in which a tensor operation was running on a device, once or several times at once.")
	w.deviceUse = w.sum(sm, "tensor.device.busy_time", "s", "Time in which a device was running any tensor operation.")
	for _, x := range s.series.all {
		if x.duration.Count() > 0 { // since the last delta points
			w.series(x)
		}
	}
	for _, d := range s.devices.all {
		if d.busyNS > 0 {
			w.point(w.deviceUse, d).SetDoubleValue(float64(d.busyNS) / 1e9)
		}
	}
	sm.Metrics().RemoveIf(func(m pmetric.Metric) bool {
		if m.Type() == pmetric.MetricTypeSum {
			return m.Sum().DataPoints().Len() == 0
		}
		return w.duration.Len() == 0
	})
}

func metric(sm pmetric.ScopeMetrics, name, unit, description string) pmetric.Metric {
	m := sm.Metrics().AppendEmpty()
	m.SetName(name)
	m.SetUnit(unit)
	m.SetDescription(description)
	return m
}

func (w *writer) sum(sm pmetric.ScopeMetrics, name, unit, description string) pmetric.NumberDataPointSlice {
	sum := metric(sm, name, unit, description).SetEmptySum()
	sum.SetIsMonotonic(true)
	sum.SetAggregationTemporality(w.temporality)
	return sum.DataPoints()
}

func (w *writer) point(to pmetric.NumberDataPointSlice, s *series) pmetric.NumberDataPoint {
	p := to.AppendEmpty()
	p.SetStartTimestamp(s.start)
	p.SetTimestamp(w.now)
	s.attributes(p.Attributes())
	return p
}

func (w *writer) series(s *series) {
	w.histogram(s)
	if s.knowsMemory {
		w.point(w.memory, s).SetIntValue(int64(s.memory))
	}
	if s.knowsFLOPs {
		w.point(w.flops, s).SetDoubleValue(s.flops)
	}
	if len(s.busy.list) > 0 {
		w.point(w.busy, s).SetDoubleValue(float64(s.busyNS) / 1e9)
	}
}

func (s *series) attributes(to pcommon.Map) {
	if s.overflow {
		to.PutBool(keyOverflow, true)
		return
	}
	if s.key.operation != "" {
		to.PutStr(attrkey.Name, s.key.operation)
	}
	if s.key.device != "" {
		to.PutStr(attrkey.Device, s.key.device)
	}
	if s.key.kind != op.KindUnknown {
		to.PutStr(attrkey.Kind, s.key.kind.String())
	}
	if s.key.side == op.SideHost {
		to.PutStr(attrkey.Side, s.key.side.String())
	}
}

// histogram adds the histogram of a series' durations, with the exemplars of the interval.
func (w *writer) histogram(s *series) {
	p := w.duration.AppendEmpty()
	s.attributes(p.Attributes())
	p.SetStartTimestamp(s.start)
	p.SetTimestamp(w.now)
	p.SetCount(s.duration.Count())
	p.SetSum(float64(s.durationNS) / 1e9)
	p.SetScale(s.duration.Scale())
	p.SetZeroCount(s.duration.ZeroCount())
	p.SetMin(s.duration.Min())
	p.SetMax(s.duration.Max())
	from := s.duration.Positive()
	counts := make([]uint64, from.Len())
	for i := range counts {
		counts[i] = from.At(uint32(i))
	}
	p.Positive().SetOffset(from.Offset())
	p.Positive().BucketCounts().FromRaw(counts)
	for _, x := range s.exemplars {
		e := p.Exemplars().AppendEmpty()
		e.SetTraceID(x.trace)
		e.SetSpanID(x.span)
		e.SetTimestamp(x.end)
		e.SetDoubleValue(float64(x.ns) / 1e9)
	}
	s.exemplars = s.exemplars[:0]
}
