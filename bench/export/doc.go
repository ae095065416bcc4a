// Package export compares what it costs to turn finished spans into bytes.
package export
