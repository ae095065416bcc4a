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
//	$ optrace correlate -top 0 requests.jsonl
//	input      1 file, 5.16 KiB: 15 operations and 5 other spans
//	requests   5 with 15 operations
//
//	FINDINGS
//	  1. The bound is compute: 75.0 % of 6.00 ms, the paths of 5 requests; the host 20.7 %, communication 4.3 %.
//	  2. Without matmul the requests would be 4.00 ms (66.7 %) shorter; it is 66.7 % of their paths.
//	  3. 1.24 ms (20.7 %) of the requests' paths pass on the host in POST /predict, with no operation to wait for. The longest idle time of a device in it is 250 µs of cuda:0.
//	  4. Without embed the requests would be 500 µs (8.3 %) shorter; it is 8.3 % of their paths.
//	  5. Without allreduce the requests would be 260 µs (4.3 %) shorter; it is 4.3 % of their paths.
//
//	ENDPOINTS
//	  endpoint       service  requests  operations     mean     p50      p95      max       uncovered       queueing
//	  POST /predict  api             5          15  1.20 ms  800 µs  2.80 ms  2.80 ms  1.24 ms (21 %)  750 µs (12 %)
//	  uncovered: no operation ran; queueing: before the first one; both as parts of the requests' durations
//
//	CRITICAL PATH of POST /predict
//	  bound by compute 75.0 %, communication 4.3 %, host 20.7 %
//	  operation      kind        device     time   share           segments
//	  matmul         compute     cuda:0  4.00 ms  66.7 %  ██████▋         5
//	  POST /predict  host                1.24 ms  20.7 %  ██▏            10
//	  embed          compute     cuda:0   500 µs   8.3 %  ▉               5
//	  allreduce      collective  cuda:0   260 µs   4.3 %  ▍               5
//
//	SLOW REQUESTS of POST /predict
//	  the slowest tenth, 1 of 2.80 ms on average, against the half around the median, 2 of 800 µs: 2.00 ms more, on the critical path
//	  operation      kind        device     slow  typical  difference    of it
//	  matmul         compute     cuda:0  2.40 ms   400 µs     2.00 ms  100.0 %  ██████████
//	  POST /predict  host                 247 µs   248 µs    -1.50 µs   -0.1 %
//	  allreduce      collective  cuda:0  53.0 µs  51.5 µs     1.50 µs    0.1 %
//	  embed          compute     cuda:0   100 µs   100 µs        0 ns    0.0 %
//
// With -jaeger it asks Jaeger for the traces of a service, or for those that the
// input has operations of, joins both sides by trace and span id, and links
// every row to Jaeger's pages:
//
//	optrace correlate -jaeger http://localhost:16686 -service api -since 1h ops.jsonl
//
// The slowest requests follow, one on each line, as many as -top says. Names are
// links on a terminal that shows them; elsewhere links are listed at the foot.
//
// # Diff
//
// Diff compares a head with a base: which operations became slower, by how much, and
// whether that can be told from chance. Of one run a side it compares blocks of steps, of
// several runs a side, divided by "--", the runs.
//
//	$ optrace diff -width 100 base.jsonl head.jsonl
//	verdict    The head is slower by 6.5 % (between +3.8 % and +9.2 %, p 0.001): a step takes 207 µs in
//	           place of 193 µs.
//	           matmul is slower by 10.0 % (between +5.4 % and +14.2 %, p 0.003): 133 µs in place of
//	           120 µs, on average.
//	base       1 run: 1 file, 60 operations, 20 steps
//	head       1 run: 1 file, 60 operations, 20 steps
//	compared   means of blocks of steps; Mann–Whitney U test, p-values adjusted for 7 tests (Holm), α
//	           0.05; unchanged is within 5 %
//	found      1 slower, 1 unchanged, 1 cannot tell
//	doubt      one run a side: a change cannot be told from what differs between runs anyway; several
//	           runs a side can
//
//	OPERATIONS
//	  operation      base     head   change                         p
//	  matmul       120 µs   133 µs  +10.0 %  [+5.4 %, +14.2 %]  0.003  slower
//	  all_reduce  60.3 µs  61.1 µs        ~  [-1.8 %, +3.3 %]   1.000  unchanged
//	  relu        8.94 µs  9.09 µs        ~  [-3.2 %, +5.9 %]   1.000  cannot tell, 128 steps would
//	  without n, count: -width 109
//	  durations are geometric means; the interval of a change is by the row alone; ~ is no change that
//	    can be told from chance
//
//	TIME
//	  device  part             base     head  change                         p      n
//	  all     wall           193 µs   207 µs  +6.5 %  [+3.8 %, +9.2 %]   0.001  20+20  slower
//	  cuda:0  compute        130 µs   142 µs  +9.2 %  [+5.5 %, +13.2 %]  0.001  20+20  slower
//	  cuda:0  exposed comm  60.3 µs  61.1 µs       ~  [-1.8 %, +3.3 %]   1.000  20+20  unchanged
//	  cuda:0  idle          4.00 µs  4.00 µs       ~  [+0.0 %, +0.0 %]   1.000  20+20  unchanged
//	  by step: wall is from the first start to the last end
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
