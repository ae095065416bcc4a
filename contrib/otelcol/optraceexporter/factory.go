// Package optraceexporter is a Collector exporter to files of entries, compressed and rotated, like the
// exporter of package optrace in a recording process.
package optraceexporter

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
)

// NewFactory returns the factory of the exporter, whose type is "optrace".
func NewFactory() exporter.Factory {
	return exporter.NewFactory(component.MustNewType("optrace"), createDefaultConfig,
		exporter.WithTraces(createTraces, component.StabilityLevelAlpha))
}

func createTraces(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Traces, error) {
	c := cfg.(*Config)
	e := &fileExporter{cfg: c, logger: set.Logger}
	return exporterhelper.NewTraces(ctx, set, cfg, e.consume,
		exporterhelper.WithStart(e.start), exporterhelper.WithShutdown(e.shutdown),
		exporterhelper.WithTimeout(c.TimeoutConfig),
		exporterhelper.WithRetry(c.BackOffConfig),
		exporterhelper.WithCapabilities(consumer.Capabilities{MutatesData: false}))
}
