package optraceconnector

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/xconnector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
)

// NewFactory returns the factory of the connector, whose type is "operations".
func NewFactory() connector.Factory {
	return xconnector.NewFactory(component.MustNewType("operations"), createDefaultConfig,
		xconnector.WithTracesToMetrics(createTracesToMetrics, component.StabilityLevelAlpha),
		xconnector.WithTracesToProfiles(createTracesToProfiles, component.StabilityLevelDevelopment))
}

func createTracesToMetrics(
	_ context.Context, set connector.Settings, cfg component.Config, next consumer.Metrics,
) (connector.Traces, error) {
	c := newMetricsConnector(cfg.(*Config), next)
	c.logger = set.Logger
	return c, nil
}

func createTracesToProfiles(
	_ context.Context, set connector.Settings, cfg component.Config, next xconsumer.Profiles,
) (connector.Traces, error) {
	c := newProfilesConnector(cfg.(*Config), next)
	c.logger = set.Logger
	return c, nil
}
