// Package optraceexporter is a Collector exporter that writes operations to a file, as
// the exporter of package optrace does in the process that records them: entries as
// JSON Lines, compressed and rotated.
//
// It reads spans by package pdataop; the file, the books of what was
// written and lost, and the formats are the root module's.
package optraceexporter
