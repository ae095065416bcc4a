// Optrace analyses recorded tensor operations: it profiles them, compares runs,
// converts them to the formats of other tools, and joins them with the requests
// of a tracing backend.
//
// The command parses flags, opens inputs and outputs and prints. Package ingest
// reads, package analyze computes, and the packages below render write; the
// command holds no figures and no formats of its own.
//
// The inputs of a command are files, directories with all files below them, and
// - for standard input; together they form one input. The format of a file is
// found by its content, and gzip and zstd are decompressed.
//
// Commands are report, convert, correlate, diff, serve, doctor, mcp, completion and version; each
// describes itself, with examples:
//
//	optrace help
//	optrace help report
//
// # Flags and output
//
// Flags may come before and after the inputs; after -- every argument is an
// input. With -o the output goes to a file. It is opened before the work begins
// and replaces an existing file, whose permissions it keeps, once it is
// complete. A new file is readable for those only who can read every input. The
// output cannot be one of the inputs, and is left out of a directory that is
// one. An interrupted command leaves nothing behind.
//
// Text is as wide as the terminal, or as -width or COLUMNS say, and 200 columns
// otherwise, 80 for a report without -section. What there is no room for is named below its table. A table has 30
// rows, or as many as -top says, and the number of those that it leaves out.
//
// Inputs need not be trusted: -max-memory, 1 GiB by default, bounds the memory that an
// input takes, and what needs more is an error. SECURITY.md lists the limits.
//
// Control characters in the names of files and operations are not printed on a
// terminal but removed or escaped, and -csv protects spreadsheets from text that
// looks like a formula.
//
// # Environment
//
// Output to a terminal is coloured unless NO_COLOR is set or TERM is dumb; -color
// decides otherwise. COLUMNS is the width of text that goes elsewhere than to a
// terminal. Where standard error is a terminal, reading that takes long shows its
// progress there.
package main
