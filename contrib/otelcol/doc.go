// Package otelcol is the root of the module that brings optrace into the
// OpenTelemetry Collector. The command otelcol-optrace below it is a Collector
// with the components that operations need.
package otelcol
