// Package optraceexporter is a Collector exporter to files of entries, compressed and rotated, like the
// exporter of package optrace in a recording process.
//
// Package pdataop reads the spans. The root module provides files, counts of written and lost operations,
// and formats.
package optraceexporter
