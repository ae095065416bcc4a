// Optrace analyses recorded tensor operations: it profiles them, compares runs, converts them to the formats of other
// tools, and joins them with the requests of a tracing backend.
//
// The command parses flags, opens inputs and outputs, and prints. Package ingest reads, package analyze computes, and
// the packages below render write; the command has no figures or formats of its own. Commands are report, convert,
// correlate, diff, serve, doctor, whatif, demo, mcp, completion and version; optrace help describes them.
//
// # Output
//
// With -o the output goes to a file. It is opened before the work begins and replaces an existing file, keeping its
// permissions, once it is complete. A new file is readable only by users who can read every input. The output cannot be
// one of the inputs, and is left out of an input directory. An interrupted command leaves no file behind.
//
// Text is as wide as the terminal, -width or COLUMNS, and 200 columns otherwise, 80 for a report without -section.
// Columns without room are named below their table. A table has 30 rows, or -top rows, and counts the omitted ones.
// Text is coloured on a terminal unless NO_COLOR is set or TERM is dumb; -color decides otherwise.
//
// Inputs need not be trusted: -max-memory bounds the memory of an input, and inputs that need more are an error.
// Control characters in names of files and operations are removed or escaped on a terminal, and -csv protects
// spreadsheets from formulas. SECURITY.md lists the limits.
package main
