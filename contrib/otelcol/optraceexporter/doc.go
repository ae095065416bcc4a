// Package optraceexporter is a Collector exporter to files of entries, compressed and rotated, like the
// exporter of package optrace in a recording process.
package optraceexporter
