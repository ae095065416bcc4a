// Package otelcol is the root of the module that brings optrace into the
// OpenTelemetry Collector. Below it are an exporter to files, optraceexporter, a
// connector to metrics, optraceconnector, and the command
// otelcol-optrace, a Collector with both. See README.md.
package otelcol
