package optraceconnector

import (
	"context"
	"fmt"

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
	c, err := config(cfg)
	if err != nil {
		return nil, err
	}
	m := newMetricsConnector(c, next)
	m.logger = set.Logger
	return m, nil
}

func createTracesToProfiles(
	_ context.Context, set connector.Settings, cfg component.Config, next xconsumer.Profiles,
) (connector.Traces, error) {
	c, err := config(cfg)
	if err != nil {
		return nil, err
	}
	p := newProfilesConnector(c, next)
	p.logger = set.Logger
	return p, nil
}

func config(cfg component.Config) (*Config, error) {
	c, ok := cfg.(*Config)
	if !ok {
		return nil, fmt.Errorf("operations: the configuration is a %T", cfg)
	}
	return c, nil
}
