package main

import (
	"errors"

	"github.com/open-telemetry/opentelemetry-collector-contrib/connector/spanmetricsconnector"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"

	"github.com/optrace/optrace/contrib/otelcol/optraceconnector"
	"github.com/optrace/optrace/contrib/otelcol/optraceexporter"
)

func components() (f otelcol.Factories, err error) {
	var errs [4]error
	f.Receivers, errs[0] = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	f.Processors, errs[1] = otelcol.MakeFactoryMap[processor.Factory](batchprocessor.NewFactory())
	f.Exporters, errs[2] = otelcol.MakeFactoryMap[exporter.Factory](
		debugexporter.NewFactory(), otlphttpexporter.NewFactory(), optraceexporter.NewFactory())
	f.Connectors, errs[3] = otelcol.MakeFactoryMap[connector.Factory](spanmetricsconnector.NewFactory(),
		optraceconnector.NewFactory())
	f.Telemetry = otelconftelemetry.NewFactory()
	return f, errors.Join(errs[:]...)
}
