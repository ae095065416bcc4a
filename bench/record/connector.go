package record

import (
	"context"
	"errors"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/connector/spanmetricsconnector"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/contrib/otelcol/optraceconnector"
)

// The sides of the suites on connectors of the Collector.
const (
	spanMetricsExponential = "spanmetricsconnector, exponential histograms"
	operationsConnector    = "operations connector"
)

// connectorSuite compares connectors from traces to metrics in a Collector, over the same
// decoded spans.
func connectorSuite() []measure.Measure {
	cases := measure.Over(measure.Suite{Name: "connectors", Unit: "span", Rounds: 31, QuickRounds: 7}, exportSets, openConnectors)
	return []measure.Measure{{
		Name: "connector_vs_spanmetrics", Target: 2, Cases: cases(spanMetricsExponential, operationsConnector),
		Limit: "encoding spans for the reader of OTLP, two fifths of ours, and reading them, two fifths: the peer reads fewer attributes",
	}}
}

func openConnectors(ctx context.Context, env *measure.Env, s *set) (*measure.Opened, error) {
	spans, decoded, err := decodedSpans(ctx, env, s)
	if err != nil {
		return nil, err
	}
	peer, err := newSpanMetrics(ctx, consumertest.NewNop(), time.Hour, exponential)
	if err != nil {
		return nil, err
	}
	ours, err := newOperationsConnector(ctx, consumertest.NewNop())
	if err != nil {
		return nil, errors.Join(err, peer.Shutdown(ctx))
	}
	side := func(c connector.Traces) measure.Side {
		return spans.side(spans.passes, func(ctx context.Context) error { return consumeAll(ctx, c, decoded) })
	}
	return &measure.Opened{
		Sides: map[string]measure.Side{spanMetricsExponential: side(peer), operationsConnector: side(ours)},
		Check: func() error {
			var sink consumertest.MetricsSink
			c, err := newOperationsConnector(ctx, &sink)
			if err != nil {
				return err
			}
			err = errors.Join(consumeAll(ctx, c, decoded), c.Shutdown(ctx))
			return errors.Join(err, sameCount(ctx, decoded, spans.count(), counted(sink.AllMetrics()...), exponential))
		},
		Close: func() error { return errors.Join(peer.Shutdown(ctx), ours.Shutdown(ctx)) },
	}, nil
}

// decodedSpans returns the spans of a set, and as a Collector has them behind its receiver.
func decodedSpans(ctx context.Context, env *measure.Env, s *set) (*spans, []ptrace.Traces, error) {
	spans, err := newSpans(ctx, env, s)
	if err != nil {
		return nil, nil, err
	}
	decoded, err := received(ctx, spans.batches)
	return spans, decoded, err
}

func consumeAll(ctx context.Context, c connector.Traces, all []ptrace.Traces) error {
	for _, td := range all {
		if err := c.ConsumeTraces(ctx, td); err != nil {
			return err
		}
	}
	return nil
}

// exponential makes the histograms of the peer like ours.
func exponential(cfg *spanmetricsconnector.Config) {
	cfg.Histogram.Explicit = configoptional.None[spanmetricsconnector.ExplicitHistogramConfig]()
	cfg.Histogram.Exponential = configoptional.Some(spanmetricsconnector.ExponentialHistogramConfig{MaxSize: 160})
	cfg.Exemplars.Enabled, cfg.Exemplars.MaxPerDataPoint = true, 4
}

func newOperationsConnector(ctx context.Context, next consumer.Metrics) (connector.Traces, error) {
	return start(ctx, optraceconnector.NewFactory(), next, func(cfg *optraceconnector.Config) { cfg.FlushInterval = time.Hour })
}
