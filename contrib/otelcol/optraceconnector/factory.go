package optraceconnector

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/xconnector"
	"go.uber.org/zap"
)

// NewFactory returns the factory of the connector, whose type is "operations".
func NewFactory() connector.Factory {
	return xconnector.NewFactory(component.MustNewType("operations"), createDefaultConfig,
		xconnector.WithTracesToMetrics(create(newMetricsConnector), component.StabilityLevelAlpha),
		xconnector.WithTracesToProfiles(create(newProfilesConnector), component.StabilityLevelDevelopment))
}

// create adapts a connector constructor to the factory's signature.
func create[N any, C connector.Traces](
	of func(*Config, *zap.Logger, N) C,
) func(context.Context, connector.Settings, component.Config, N) (connector.Traces, error) {
	return func(_ context.Context, set connector.Settings, cfg component.Config, next N) (connector.Traces, error) {
		return of(cfg.(*Config), set.Logger, next), nil
	}
}
