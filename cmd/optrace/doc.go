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
// found by its content, and gzip and zstd are decompressed. In the examples here
// ops.jsonl and requests.jsonl are small files in the format of the exporter.
//
// # Report
//
// Report says what was read, and what was lost or could not be read, what the run
// was bound by and what would make it faster, in 30 lines.
//
//	$ optrace report requests.jsonl
//	input      1 file, entries-jsonl, 5.16 KiB: 20 spans, 5 skipped (non_op)
//	total      15 operations, 4.76 ms within 40.8 ms
//
//	  1. The bound is compute: 75.0 % of 6.00 ms, the paths of 5 requests; the host
//	    20.7 %, communication 4.3 %. → critical_path
//	  2. Without matmul the requests would be 4.00 ms (66.7 %) shorter; it is 66.7 %
//	    of their paths. → operations
//	  3. 1.24 ms (20.7 %) of the requests' paths pass on the host in POST /predict,
//	    with no operation to wait for. The longest idle time of a device in it is
//	    250 µs of cuda:0. → idle
//	  4. Without embed the requests would be 500 µs (8.3 %) shorter; it is 8.3 % of
//	    their paths. → operations
//	  5. Without allreduce the requests would be 260 µs (4.3 %) shorter; it is 4.3 %
//	    of their paths. → operations
//
//	  operation  count      sum   share                mean      p99      max
//	  matmul         5  4.00 ms  84.0 %  ████████▍   800 µs  2.40 ms  2.40 ms
//	  embed          5   500 µs  10.5 %  █           100 µs   100 µs   100 µs
//	  allreduce      5   260 µs   5.5 %  ▌          52.0 µs  54.0 µs  54.0 µs
//
//	  device     span  parts                        busy           idle  no request
//	  cuda:0  40.6 ms  ████████████████▓  4.76 ms (83 %)  994 µs (17 %)     34.8 ms
//
//	More: optrace report -section NAME as → says, -section all, -html PAGE.html
//
// Behind an arrow stands the section with more; -section chooses sections, or all. By
// default operations are grouped by name; -by groups them by further keys, as by request.
// -csv prints one table as CSV, -json the whole report as JSON.
//
// # Convert
//
// Convert writes the operations in another format. Entries JSON Lines keep
// everything; other formats keep what they have a place for.
//
//	$ optrace convert -to collapsed ops.jsonl
//	POST /v1/predict;cuda:0;matmul 120500
//	POST /v1/predict;cuda:0;relu 8250
//	POST /v1/predict;cuda:1;allreduce 600000
//	POST /v1/predict;cuda:1;matmul 118250
//
// A record that cannot be read does not end the work: it is left out and
// reported on standard error.
//
// # Correlate
//
// Correlate says which operation made a request slow. The requests come from a
// running Jaeger, from the input, or from both. In the input they are the spans
// around the operations, which the exporter writes as well.
//
// With -jaeger it asks Jaeger for the traces of a service, or for those that the
// input has operations of, joins both sides by trace and span id, and links
// every row to Jaeger's pages:
//
//	optrace correlate -jaeger http://localhost:16686 -service api -since 1h ops.jsonl
//
// The slowest requests are listed, as many as -top says. Names are
// links on a terminal that shows them; elsewhere links are listed at the foot.
//
// # Diff
//
// Diff compares a head with a base: which operations became slower, by how much, and
// whether that can be told from chance. Of one run a side it compares blocks of steps, of
// several runs a side, divided by "--", the runs.
//
//	optrace diff base.jsonl head.jsonl
//	optrace diff -fail-above 5 base/*.jsonl -- head/*.jsonl
//
// With -fail-above 5 the exit code is 1 where an operation is slower by more than 5 %, a
// part of the time by more than 5 % of all the time, or a side has no operations, which
// makes it a gate for continuous integration; -markdown prints what a pull request
// shows.
//
// # Serve
//
// Serve is the page of report -html while operations come in: from inputs that grow,
// which it follows, and from programs that export spans by OTLP to this machine.
//
//	optrace serve -open ops.jsonl
//
// It keeps a window of the latest operations and ends when it is interrupted, which is
// no error.
//
// # Doctor
//
// Doctor says what a recording lacks, which figures of the report that costs, and what
// records it: lines of Go, and attributes for other languages.
//
//	optrace doctor ops.jsonl
//
// # Mcp
//
// Mcp answers the questions of an assistant by the Model Context Protocol on standard
// input and output, about inputs below directories; docs/agents.md has its tools and
// three examples.
//
//	optrace mcp traces/
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
// # Help and completion
//
// Help explains a command, and three topics: formats lists what is read and written, json
// the keys of the reports in JSON, and exit-codes what scripts look at.
//
// Completion prints a script for a shell, which then completes commands, flags and the
// values of flags:
//
//	source <(optrace completion bash)
//
// # Environment
//
// Output to a terminal is coloured unless NO_COLOR is set or TERM is dumb; -color
// decides otherwise. COLUMNS is the width of text that goes elsewhere than to a
// terminal. Where standard error is a terminal, reading that takes long shows its
// progress there.
package main
