package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/connector/spanmetricsconnector"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/live"
	"github.com/optrace/optrace/op"
)

// The sides of the suites on profiles in the process.
const (
	spanMetrics     = "otlptrace + proto.Marshal, pdata + spanmetricsconnector"
	spanMetricsOnly = "spanmetricsconnector, spans decoded"
	liveProfile     = "live.Processor"
)

// liveSuite compares profiles of the same ended spans: by package live where they end, and
// by the Collector's connector, which has them when they have been exported and received.
// Sending is not counted.
func liveSuite() []measure.Measure {
	var suites setSuites
	for _, s := range exportSets {
		suites = append(suites, setSuite{s.name, &measure.Suite{
			Name: "profiling, " + s.name, Unit: "span", Rounds: 31, QuickRounds: 7,
			Open: func(ctx context.Context, _ *measure.Env, _ measure.Want) (*measure.Opened, error) {
				return openLive(ctx, &s)
			},
		}})
	}
	return []measure.Measure{
		{
			Name: "live_vs_spanmetrics", Target: 10, Cases: suites.cases(spanMetrics, liveProfile),
			What: "ended spans to durations per operation, device and kind, against export, decoding and the connector", Limit: limitLive,
		},
		{
			Name: "live_vs_spanmetrics_connector", Cases: suites.cases(spanMetricsOnly, liveProfile),
			What: "the same against the connector alone", Limit: limitLive,
		},
	}
}

const limitLive = "reading the span by its interface, finding its attributes in a cache; the sums, sketches and latest operations"

func openLive(ctx context.Context, s *set) (*measure.Opened, error) {
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
	connector, err := newSpanMetrics(ctx, consumertest.NewNop(), time.Hour, nil)
	if err != nil {
		return nil, err
	}
	p, err := live.NewProcessor()
	if err != nil {
		return nil, errors.Join(err, connector.Shutdown(ctx))
	}
	passes := max(1, 4*minBatches/len(batches))
	spans := int64(len(batches) * batchSize)
	repeat := func(work func() error) measure.Side {
		return func(context.Context) (measure.Sample, error) {
			return measure.Timed(int64(passes)*spans, func() (err error) {
				for range passes {
					err = errors.Join(err, work())
				}
				return err
			})
		}
	}
	consume := func(all []ptrace.Traces) error {
		for _, td := range all {
			if err := connector.ConsumeTraces(ctx, td); err != nil {
				return err
			}
		}
		return nil
	}
	return &measure.Opened{
		Sides: map[string]measure.Side{
			liveProfile: repeat(func() error { return end(p, batches) }),
			spanMetrics: repeat(func() error {
				sent, err := encoded(ctx, batches)
				if err != nil {
					return err
				}
				all, err := decode(sent)
				return errors.Join(err, consume(all))
			}),
			spanMetricsOnly: repeat(func() error { return consume(decoded) }),
		},
		Check: func() error { return sameCalls(ctx, batches, decoded) },
		Close: func() error { return errors.Join(connector.Shutdown(ctx), p.Shutdown(ctx)) },
	}, nil
}

// end ends the spans of batches.
func end(p *live.Processor, batches [][]sdktrace.ReadOnlySpan) error {
	for _, b := range batches {
		for _, s := range b {
			p.OnEnd(s)
		}
	}
	return nil
}

// encoded returns the requests that the SDK's exporter makes of batches.
func encoded(ctx context.Context, batches [][]sdktrace.ReadOnlySpan) (sent [][]byte, err error) {
	client := new(marshallingClient)
	exp := otlptrace.NewUnstarted(client)
	for _, b := range batches {
		err = errors.Join(err, exp.ExportSpans(ctx, b))
		sent = append(sent, client.last)
	}
	return sent, err
}

// decode returns requests as the Collector's receiver has them.
func decode(sent [][]byte) (all []ptrace.Traces, err error) {
	var u ptrace.ProtoUnmarshaler
	for _, text := range sent {
		td, e := u.UnmarshalTraces(text)
		err = errors.Join(err, e)
		all = append(all, td)
	}
	return all, err
}

// newSpanMetrics starts the connector with the attributes that tell operations apart.
func newSpanMetrics(
	ctx context.Context, next consumer.Metrics, flush time.Duration, change func(*spanmetricsconnector.Config),
) (connector.Traces, error) {
	f := spanmetricsconnector.NewFactory()
	cfg, ok := f.CreateDefaultConfig().(*spanmetricsconnector.Config)
	if !ok {
		return nil, errors.New("spanmetricsconnector: another configuration")
	}
	for _, name := range []string{op.KeyName, op.KeyDevice, op.KeyKind} {
		cfg.Dimensions = append(cfg.Dimensions, spanmetricsconnector.Dimension{Name: name})
	}
	if change != nil {
		change(cfg)
	}
	cfg.MetricsFlushInterval = flush
	cfg.ResourceMetricsCacheSize, cfg.AggregationCardinalityLimit = 1000, 0
	settings := connector.Settings{ID: component.NewID(f.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings()}
	c, err := f.CreateTracesToMetrics(ctx, settings, cfg, next)
	if err != nil {
		return nil, err
	}
	return c, c.Start(ctx, componenttest.NewNopHost())
}

// sameCalls returns an error unless both sides count as many operations.
func sameCalls(ctx context.Context, batches [][]sdktrace.ReadOnlySpan, decoded []ptrace.Traces) error {
	p, err := live.NewProcessor()
	if err != nil {
		return err
	}
	var sink consumertest.MetricsSink
	c, err := newSpanMetrics(ctx, &sink, 10*time.Millisecond, nil)
	if err != nil {
		return err
	}
	err = end(p, batches)
	for _, td := range decoded {
		err = errors.Join(err, c.ConsumeTraces(ctx, td))
	}
	want := p.Report().Total.Count
	got := int64(0)
	for range 1000 {
		if got = calls(sink.AllMetrics()); got >= want {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got != want || want != int64(len(batches)*batchSize) {
		err = errors.Join(err, fmt.Errorf("the connector counts %d operations, live %d", got, want))
	}
	return errors.Join(err, c.Shutdown(ctx), p.Shutdown(ctx))
}

// calls returns the sum of the calls in the last metrics, which are cumulative.
func calls(all []pmetric.Metrics) (n int64) {
	if len(all) == 0 {
		return 0
	}
	for _, rm := range all[len(all)-1].ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				if m.Type() != pmetric.MetricTypeSum {
					continue
				}
				for _, point := range m.Sum().DataPoints().All() {
					n += point.IntValue()
				}
			}
		}
	}
	return n
}
