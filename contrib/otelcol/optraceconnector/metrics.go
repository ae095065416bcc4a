package optraceconnector

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/contrib/otelcol/internal/pdataop"
	"github.com/optrace/optrace/op"
)

// metricsConnector makes metrics of traces. It is safe for concurrent use.
type metricsConnector struct {
	flusher
	cfg  *Metrics
	next consumer.Metrics
	now  func() time.Time

	mu      sync.Mutex
	reader  *pdataop.Reader
	sources []*source // in the order in which they came
	byID    map[string]*source
	rest    *source // of resources beyond the limit; nil for none
}

// unused are the fields of entries that metrics do without.
var unused = op.FieldsOf(op.FieldPath, op.FieldInputShapes, op.FieldInputDTypes, op.FieldStream, op.FieldStep, op.FieldRank, op.FieldLaunch,
	op.FieldRoot, op.FieldScope, op.FieldLinks)

func newMetricsConnector(cfg *Config, next consumer.Metrics) *metricsConnector {
	c := &metricsConnector{
		cfg: &cfg.Metrics, next: next, now: time.Now, byID: make(map[string]*source),
		reader: pdataop.NewReader((*op.Mapping)(nil).Without(unused)),
	}
	c.flusher = flusher{interval: cfg.FlushInterval, flush: c.send}
	return c
}

// Capabilities implements consumer.Traces.
func (*metricsConnector) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: false}
}

// ConsumeTraces implements consumer.Traces.
func (c *metricsConnector) ConsumeTraces(_ context.Context, td ptrace.Traces) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := pcommon.NewTimestampFromTime(c.now())
	for _, rs := range td.ResourceSpans().All() {
		res := pdataop.Resource(rs.Resource())
		c.reader.SetResource(res)
		var from *source
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				e, ok := c.reader.Entry(s)
				if !ok {
					continue
				}
				if from == nil {
					from = c.source(res, rs.Resource())
				}
				from.add(e, now)
			}
		}
	}
	return nil
}

// source returns the series of a resource, which is told by all of its attributes.
func (c *metricsConnector) source(res *op.Resource, r pcommon.Resource) *source {
	id := op.AppendHeader(nil, res)
	if found := c.byID[string(id)]; found != nil {
		return found
	}
	if len(c.byID) < c.cfg.ResourceLimit {
		begun := newSource(r, c.cfg)
		c.byID[string(id)] = begun
		c.sources = append(c.sources, begun)
		return begun
	}
	if c.rest == nil {
		overflow := pcommon.NewResource()
		overflow.Attributes().PutBool(keyOverflow, true)
		c.rest = newSource(overflow, c.cfg)
		c.sources = append(c.sources, c.rest)
	}
	return c.rest
}

// send sends the metrics on.
func (c *metricsConnector) send(ctx context.Context) error {
	out := c.take()
	if out.DataPointCount() == 0 {
		return nil
	}
	return c.next.ConsumeMetrics(ctx, out)
}

// take returns the metrics. Of delta metrics it begins another interval.
func (c *metricsConnector) take() pmetric.Metrics {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := pmetric.NewMetrics()
	w := writer{temporality: c.cfg.temporality(), now: pcommon.NewTimestampFromTime(c.now())}
	for _, s := range c.sources {
		w.write(out, s)
	}
	out.ResourceMetrics().RemoveIf(func(rm pmetric.ResourceMetrics) bool { return rm.ScopeMetrics().At(0).Metrics().Len() == 0 })
	if c.cfg.Temporality == delta {
		c.reset(w.now)
	}
	return out
}

// reset begins another interval of delta metrics, without the resources that nothing
// came from in the last one.
func (c *metricsConnector) reset(now pcommon.Timestamp) {
	kept := c.sources[:0]
	for _, s := range c.sources {
		if s.reset(now); len(s.series) > 0 {
			kept = append(kept, s)
		}
	}
	clear(c.sources[len(kept):])
	c.sources = kept
	for id, s := range c.byID {
		if len(s.series) == 0 {
			delete(c.byID, id)
		}
	}
	if c.rest != nil && len(c.rest.series) == 0 {
		c.rest = nil
	}
}
