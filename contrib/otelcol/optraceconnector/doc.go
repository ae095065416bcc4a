// Package optraceconnector is a Collector connector from traces to what their
// operations cost: metrics of each operation on each device, and OpenTelemetry
// profiles.
//
// It reads spans by package pdataop. Metrics are sums of bounded memory;
// profiles are made of the spans of an interval by the packages analyze and
// render/otlpprofiles.
package optraceconnector
