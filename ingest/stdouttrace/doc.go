// Package stdouttrace reads the output of OpenTelemetry's stdouttrace exporter: JSON objects in a row, on a line each
// or indented, perhaps with other output of the program in between, or lists of them. It also reads the output of
// Python's ConsoleSpanExporter, whose times are microseconds.
package stdouttrace
