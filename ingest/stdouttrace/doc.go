// Package stdouttrace reads the spans that OpenTelemetry's exporter of the same name prints: JSON objects one behind
// the other, on a line each or indented, perhaps with other output of the program in between.
package stdouttrace
