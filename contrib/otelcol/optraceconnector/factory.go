// Package optraceconnector is a Collector connector from traces to metrics of
// each operation on each device.
// Metrics are sums of bounded memory.
package optraceconnector

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
)

// NewFactory returns the factory of the connector, whose type is "operations".
func NewFactory() connector.Factory {
	return connector.NewFactory(component.MustNewType("operations"), createDefaultConfig,
		connector.WithTracesToMetrics(create, component.StabilityLevelAlpha))
}

func create(_ context.Context, set connector.Settings, cfg component.Config, next consumer.Metrics) (connector.Traces, error) {
	return newMetricsConnector(cfg.(*Config), set.Logger, next), nil
}
