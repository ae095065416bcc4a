package optraceconnector

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/optrace/optrace/contrib/otelcol/internal/pdataop"
	"github.com/optrace/optrace/op"
)

// metricsConnector makes metrics of traces. It sends them at an interval while it runs, and at its end. It is safe for
// concurrent use.
type metricsConnector struct {
	interval time.Duration
	cfg      *Metrics
	logger   *zap.Logger
	next     consumer.Metrics
	now      func() time.Time

	mu      sync.Mutex // guards the following fields
	reader  *pdataop.Reader
	sources table[string, source]

	stop, done chan struct{} // nil until Start
}

func newMetricsConnector(cfg *Config, logger *zap.Logger, next consumer.Metrics) *metricsConnector {
	return &metricsConnector{
		interval: cfg.FlushInterval, cfg: &cfg.Metrics, logger: logger, next: next, now: time.Now,
		reader: pdataop.NewReader(nil), sources: table[string, source]{limit: cfg.Metrics.ResourceLimit},
	}
}

// Capabilities implements consumer.Traces.
func (*metricsConnector) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

// Start implements component.Component.
func (c *metricsConnector) Start(context.Context, component.Host) error {
	c.stop, c.done = make(chan struct{}), make(chan struct{})
	go c.run()
	return nil
}

func (c *metricsConnector) run() {
	defer close(c.done)
	tick := time.NewTicker(c.interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := c.send(context.Background()); err != nil {
				c.logger.Error("sending on what operations cost", zap.Error(err))
			}
		case <-c.stop:
			return
		}
	}
}

// Shutdown implements component.Component.
func (c *metricsConnector) Shutdown(ctx context.Context) error {
	if c.stop == nil {
		return nil
	}
	close(c.stop)
	select {
	case <-c.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return c.send(ctx)
}

// ConsumeTraces implements consumer.Traces.
func (c *metricsConnector) ConsumeTraces(_ context.Context, td ptrace.Traces) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := pcommon.NewTimestampFromTime(c.now())
	var id string
	var from *source // nil until the source has an operation
	resources := 0
	for rec, err := range c.reader.Records(td) {
		switch {
		case err != nil:
			c.logger.Error("reading spans", zap.Error(err))
			return nil // the client could only send them again
		case rec.Resource != nil:
			resources++
			id = string(op.AppendHeader(nil, rec.Resource))
			from = c.sources.byKey[id]
		case rec.Entry != nil:
			if from == nil {
				from = c.sources.find(id, func(overflow bool) *source {
					return newSource(td.ResourceSpans().At(resources-1).Resource(), overflow, c.cfg)
				})
			}
			from.add(rec.Entry, now)
		}
	}
	return nil
}

func (c *metricsConnector) send(ctx context.Context) error {
	out := c.take()
	if out.DataPointCount() == 0 {
		return nil
	}
	return c.next.ConsumeMetrics(ctx, out)
}

// take returns the metrics. Delta metrics start another interval.
func (c *metricsConnector) take() pmetric.Metrics {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := pmetric.NewMetrics()
	w := writer{temporality: c.cfg.temporality(), now: pcommon.NewTimestampFromTime(c.now())}
	for _, s := range c.sources.all {
		w.write(out, s)
	}
	out.ResourceMetrics().RemoveIf(func(rm pmetric.ResourceMetrics) bool {
		return rm.ScopeMetrics().At(0).Metrics().Len() == 0
	})
	if c.cfg.Temporality == delta { // without resources that had no operation in the last interval
		for _, s := range c.sources.all {
			s.reset(w.now)
		}
		c.sources.keep(func(s *source) bool { return len(s.series.all) > 0 })
	}
	return out
}
