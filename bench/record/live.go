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
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/live"
)

// The sides of the suites on profiles in the process.
const (
	spanMetrics = "otlptrace + proto.Marshal, pdata + spanmetricsconnector"
	liveProfile = "live.Processor"
)

// liveSuite compares profiles of the same ended spans: by package live where they end, and
// by the Collector's connector, which has them when they have been exported and received.
// Sending is not counted.
func liveSuite() []measure.Measure {
	cases := measure.Over(measure.Suite{Name: "profiling", Unit: "span", Rounds: 31, QuickRounds: 7}, exportSets, openLive)
	return []measure.Measure{{
		Name: "live_vs_spanmetrics", Target: 10, Cases: cases(spanMetrics, liveProfile),
		Limit: "reading the span by its interface, finding its attributes in a cache; the sums, sketches and latest operations",
	}}
}

func openLive(ctx context.Context, env *measure.Env, s *set) (*measure.Opened, error) {
	spans, decoded, err := decodedSpans(ctx, env, s)
	if err != nil {
		return nil, err
	}
	peer, err := newSpanMetrics(ctx, consumertest.NewNop(), time.Hour, nil)
	if err != nil {
		return nil, err
	}
	p, err := live.NewProcessor()
	if err != nil {
		return nil, errors.Join(err, peer.Shutdown(ctx))
	}
	return &measure.Opened{
		Sides: map[string]measure.Side{
			liveProfile: spans.side(spans.passes, func(context.Context) error {
				end(p, spans.batches)
				return nil
			}),
			spanMetrics: spans.side(spans.passes, func(ctx context.Context) error {
				all, err := received(ctx, spans.batches)
				return errors.Join(err, consumeAll(ctx, peer, all))
			}),
		},
		Check: func() error {
			p, err := live.NewProcessor()
			if err != nil {
				return err
			}
			end(p, spans.batches)
			return errors.Join(sameCount(ctx, decoded, spans.count(), p.Report().Total.Count, nil), p.Shutdown(ctx))
		},
		Close: func() error { return errors.Join(peer.Shutdown(ctx), p.Shutdown(ctx)) },
	}, nil
}

func end(p *live.Processor, batches [][]sdktrace.ReadOnlySpan) {
	for _, b := range batches {
		for _, s := range b {
			p.OnEnd(s)
		}
	}
}

// received returns batches as a Collector has them behind its receiver: the SDK's
// exporter makes requests of them, which are decoded.
func received(ctx context.Context, batches [][]sdktrace.ReadOnlySpan) (all []ptrace.Traces, err error) {
	client := new(marshallingClient)
	exp := otlptrace.NewUnstarted(client)
	var u ptrace.ProtoUnmarshaler
	for _, b := range batches {
		if err := exp.ExportSpans(ctx, b); err != nil {
			return nil, err
		}
		td, err := u.UnmarshalTraces(client.last)
		if err != nil {
			return nil, err
		}
		all = append(all, td)
	}
	return all, nil
}

// newSpanMetrics starts the connector with the attributes that tell operations apart.
func newSpanMetrics(
	ctx context.Context, next consumer.Metrics, flush time.Duration, change func(*spanmetricsconnector.Config),
) (connector.Traces, error) {
	return start(ctx, spanmetricsconnector.NewFactory(), next, func(cfg *spanmetricsconnector.Config) {
		for _, name := range []string{attrkey.Name, attrkey.Device, attrkey.Kind} {
			cfg.Dimensions = append(cfg.Dimensions, spanmetricsconnector.Dimension{Name: name})
		}
		if change != nil {
			change(cfg)
		}
		cfg.MetricsFlushInterval = flush
		cfg.ResourceMetricsCacheSize, cfg.AggregationCardinalityLimit = 1000, 0
	})
}

// start starts a connector with its default configuration, changed by a function.
func start[C any](ctx context.Context, f connector.Factory, next consumer.Metrics, change func(*C)) (connector.Traces, error) {
	cfg, ok := f.CreateDefaultConfig().(*C)
	if !ok {
		return nil, fmt.Errorf("%v: another configuration", f.Type())
	}
	change(cfg)
	settings := connector.Settings{ID: component.NewID(f.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings()}
	c, err := f.CreateTracesToMetrics(ctx, settings, cfg, next)
	if err != nil {
		return nil, err
	}
	return c, c.Start(ctx, componenttest.NewNopHost())
}

// sameCount returns an error unless ours, a count of operations, and that of the spanmetricsconnector,
// which has some seconds for it, are what is wanted.
func sameCount(ctx context.Context, decoded []ptrace.Traces, want, ours int64, change func(*spanmetricsconnector.Config)) error {
	var sink consumertest.MetricsSink
	c, err := newSpanMetrics(ctx, &sink, 10*time.Millisecond, change)
	if err != nil {
		return err
	}
	err = consumeAll(ctx, c, decoded)
	theirs := int64(0)
	for i := 0; i < 1000 && theirs < want; i++ {
		time.Sleep(10 * time.Millisecond)
		if all := sink.AllMetrics(); len(all) > 0 {
			theirs = counted(all[len(all)-1]) // of cumulative metrics
		}
	}
	if theirs != want || ours != want {
		err = errors.Join(err, fmt.Errorf("of %d operations spanmetrics counts %d, ours %d", want, theirs, ours))
	}
	return errors.Join(err, c.Shutdown(ctx))
}

// counted returns how many operations metrics count, by calls or by the durations in histograms.
func counted(all ...pmetric.Metrics) (n int64) {
	for _, ms := range all {
		for _, rm := range ms.ResourceMetrics().All() {
			for _, m := range rm.ScopeMetrics().At(0).Metrics().All() {
				switch {
				case m.Name() == "traces.span.metrics.calls":
					for _, p := range m.Sum().DataPoints().All() {
						n += p.IntValue()
					}
				case m.Name() == "tensor.op.duration":
					for _, p := range m.ExponentialHistogram().DataPoints().All() {
						n += int64(p.Count())
					}
				}
			}
		}
	}
	return n
}
