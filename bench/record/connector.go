package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/connector/spanmetricsconnector"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
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
	var suites setSuites
	for _, s := range exportSets {
		suites = append(suites, setSuite{s.name, &measure.Suite{
			Name: "connectors, " + s.name, Unit: "span", Rounds: 31, QuickRounds: 7,
			Open: func(ctx context.Context, _ *measure.Env, _ measure.Want) (*measure.Opened, error) {
				return openConnectors(ctx, &s)
			},
		}})
	}
	return []measure.Measure{{
		Name: "connector_vs_spanmetrics", Target: 10, Cases: suites.cases(spanMetricsExponential, operationsConnector),
		What: "decoded spans to metrics per operation, device and kind, by connectors of the Collector", Limit: limitConnector,
	}}
}

const limitConnector = "reading spans from memory, where each key and value lies by itself: of ours two thirds, and the peer reads fewer"

func openConnectors(ctx context.Context, s *set) (*measure.Opened, error) {
	ops := s.ops()
	n := minBatches
	if s.steps {
		n = max(n, 2*len(ops)/batchSize)
	}
	batches, err := sdkBatches(ctx, s, ops, n)
	if err != nil {
		return nil, fmt.Errorf("recording spans: %w", err)
	}
	sent, err := encoded(ctx, batches)
	if err != nil {
		return nil, err
	}
	decoded, err := decode(sent)
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
	passes := max(1, 4*minBatches/len(batches))
	spans := int64(len(batches) * batchSize)
	side := func(c connector.Traces) measure.Side {
		return func(context.Context) (measure.Sample, error) {
			return measure.Timed(int64(passes)*spans, func() (err error) {
				for range passes {
					err = errors.Join(err, consumeAll(ctx, c, decoded))
				}
				return err
			})
		}
	}
	return &measure.Opened{
		Sides: map[string]measure.Side{spanMetricsExponential: side(peer), operationsConnector: side(ours)},
		Check: func() error { return sameCounts(ctx, decoded, spans) },
		Close: func() error { return errors.Join(peer.Shutdown(ctx), ours.Shutdown(ctx)) },
	}, nil
}

// consumeAll hands spans to a connector.
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

// newOperationsConnector starts our connector.
func newOperationsConnector(ctx context.Context, next consumer.Metrics) (connector.Traces, error) {
	f := optraceconnector.NewFactory()
	cfg, ok := f.CreateDefaultConfig().(*optraceconnector.Config)
	if !ok {
		return nil, errors.New("optraceconnector: another configuration")
	}
	cfg.FlushInterval = time.Hour
	settings := connector.Settings{ID: component.NewID(f.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings()}
	c, err := f.CreateTracesToMetrics(ctx, settings, cfg, next)
	if err != nil {
		return nil, err
	}
	return c, c.Start(ctx, componenttest.NewNopHost())
}

// sameCounts returns an error unless both sides count all spans.
func sameCounts(ctx context.Context, decoded []ptrace.Traces, spans int64) error {
	var peers, ours consumertest.MetricsSink
	peer, err := newSpanMetrics(ctx, &peers, 10*time.Millisecond, exponential)
	if err != nil {
		return err
	}
	c, err := newOperationsConnector(ctx, &ours)
	if err != nil {
		return errors.Join(err, peer.Shutdown(ctx))
	}
	err = errors.Join(consumeAll(ctx, peer, decoded), consumeAll(ctx, c, decoded), c.Shutdown(ctx))
	counted := int64(0)
	for range 1000 {
		if counted = calls(peers.AllMetrics()); counted >= spans {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := durations(ours.AllMetrics()); n != spans || counted != spans {
		err = errors.Join(err, fmt.Errorf("of %d operations spanmetrics counts %d, ours %d", spans, counted, n))
	}
	return errors.Join(err, peer.Shutdown(ctx))
}

// durations returns how many durations there are in exponential histograms.
func durations(all []pmetric.Metrics) (n int64) {
	for _, ms := range all {
		for _, rm := range ms.ResourceMetrics().All() {
			for _, m := range rm.ScopeMetrics().At(0).Metrics().All() {
				if m.Type() != pmetric.MetricTypeExponentialHistogram {
					continue
				}
				for _, p := range m.ExponentialHistogram().DataPoints().All() {
					n += int64(p.Count())
				}
			}
		}
	}
	return n
}
