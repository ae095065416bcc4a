// Optrace analyses recorded tensor operations: it profiles them, compares runs,
// converts them to the formats of other tools, and joins them with the requests
// of a tracing backend.
//
// The command parses flags, opens inputs and outputs and prints. Package ingest
// reads, package analyze computes, and the packages below render write; the
// command holds no figures and no formats of its own. Commands are report, convert,
// correlate, diff, serve, doctor, mcp, completion and version; optrace help describes
// them, with flags and examples.
//
// # Output
//
// With -o the output goes to a file. It is opened before the work begins
// and replaces an existing file, whose permissions it keeps, once it is
// complete. A new file is readable for those only who can read every input. The
// output cannot be one of the inputs, and is left out of a directory that is
// one. An interrupted command leaves nothing behind.
//
// Text is as wide as the terminal, or as -width or COLUMNS say, and 200 columns
// otherwise, 80 for a report without -section. What there is no room for is named below its table. A table has 30
// rows, or as many as -top says, and the number of those that it leaves out. It is coloured on a terminal unless
// NO_COLOR is set or TERM is dumb; -color decides otherwise.
//
// Inputs need not be trusted: -max-memory bounds the memory that an input takes, and what needs more is an error.
// Control characters in the names of files and operations are not printed on a terminal but removed or escaped, and
// -csv protects spreadsheets from text that looks like a formula. SECURITY.md lists the limits.
package main
