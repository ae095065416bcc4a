// Package optraceconnector is a Collector connector from traces to metrics of
// each operation on each device.
// Metrics are sums of bounded memory.
package optraceconnector
