// Command otelcol-optrace is an OpenTelemetry Collector for the spans of operations.
//
// Usage:
//
//	go run -C contrib/otelcol ./cmd/otelcol-optrace --config examples/config.yaml
//
// It has the flags and commands of every Collector; "validate" checks a configuration and "components"
// lists the components.
package main

import (
	"fmt"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/otelcol"

	"github.com/optrace/optrace"
)

func main() {
	if err := otelcol.NewCommand(settings()).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "otelcol-optrace:", err)
		os.Exit(1)
	}
}

// settings returns the components of the Collector. Configurations come from files, environment variables
// and the command line.
func settings(uris ...string) otelcol.CollectorSettings {
	return otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{
			Command: "otelcol-optrace", Description: "OpenTelemetry Collector with optrace", Version: optrace.Version,
		},
		Factories: components,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:          uris,
			DefaultScheme: "env",
			ProviderFactories: []confmap.ProviderFactory{
				fileprovider.NewFactory(), envprovider.NewFactory(), yamlprovider.NewFactory(),
			},
		}},
	}
}
