// Optrace analyses recorded tensor operations: it profiles them, converts them
// to the formats of other tools, and says what its figures were computed from.
//
// The inputs of every command are files, directories, which are walked, and -
// for standard input; together they form one input. What a file holds is found
// by its content, and gzip and zstd are opened transparently. In the examples
// here ops.jsonl is a small file in the format of the exporter.
//
// # Report
//
// Report starts with an envelope that tells what was read and what was lost or
// could not be read. Then come the sections; -section chooses among them.
//
//	$ optrace report -section communication,balance ops.jsonl
//	input      1 file, entries-jsonl, 1.73 KiB
//	spans      5: 4 entries, 1 skipped (non_op 1)
//	sampling   none recorded
//	total      4 operations, 847 µs within 740 µs, memory 2.19 MiB (largest 2.00 MiB), 51.4 MFLOP
//
//	LOAD BALANCE
//	  2 devices, ideal 424 µs each, largest 718 µs: imbalance 69.6 % by sums, 69.6 % by busy time
//	  device     sum  of ideal
//	  cuda:0  129 µs    30.4 %
//	  cuda:1  718 µs   169.6 %
//
//	COMMUNICATION
//	  recognised by attribute 0, by library name 0, by a word in the name 1
//	  operation  calls     sum  of total
//	  allreduce      1  600 µs    70.8 %
//	  collective  count  inferred  single  transfer  wait
//	  allreduce       1         1       1      0 ns  0 ns
//	  transfer: the shortest duration among the devices; wait: what all devices took beyond it
//
// By default operations are grouped by name. -by groups them by further keys,
// and every table can be had as CSV, the whole report as JSON.
//
//	$ optrace report -csv -by device,kind -section operations ops.jsonl
//	by_device,by_kind,kind,side,count,sum_ns,mean_ns,min_ns,max_ns,std_ns,p50_ns,p90_ns,p95_ns,p99_ns,self_ns,elements,memory_bytes,flops,errors,share,exemplar_trace_id,exemplar_span_id,mixes
//	cuda:1,collective,collective,,1,600000,600000,600000,600000,,600000,600000,600000,600000,600000,524288,2097152,0,1,0.7083825265643447,4d02081d276cbb954beb68be77c6566e,0000000000000004,
//	cuda:0,compute,compute,,2,128750,64375,8250,120500,79372.73618818996,8250,120500,120500,120500,128750,32768,131072,25690112,0,0.15200708382526565,4d02081d276cbb954beb68be77c6566e,0000000000000001,shape
//	cuda:1,compute,compute,,1,118250,118250,118250,118250,,118250,118250,118250,118250,118250,16384,65536,25690112,0,0.1396103896103896,4d02081d276cbb954beb68be77c6566e,0000000000000002,
//
//	$ optrace report -csv -section communication ops.jsonl
//	operation,total_duration_us,ratio_of_total,call_count
//	allreduce,600,0.7083825265643447,1
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
//	$ optrace convert -to collapsed-flat ops.jsonl
//	trace;cuda:0;matmul 121
//	trace;cuda:0;relu 8
//	trace;cuda:1;allreduce 600
//	trace;cuda:1;matmul 118
//
// A bad record does not end the work: it is left out, and standard error tells
// of it. With -o the file is replaced once it is complete.
//
// # Correlate
//
// Correlate says which operation made a request slow. The requests come from a
// running Jaeger, from the input, or from both; in the input they are the spans
// around the operations, which the exporter writes beside them.
//
//	$ optrace correlate -top 2 requests.jsonl
//	input      1 file, 5.16 KiB: 15 operations and 5 other spans
//	requests   5 with 15 operations
//
//	ENDPOINTS
//	  endpoint       service  requests  operations     mean     p50      p95      max       uncovered       queueing
//	  POST /predict  api             5          15  1.20 ms  800 µs  2.80 ms  2.80 ms  1.24 ms (21 %)  750 µs (12 %)
//	  uncovered: no operation ran; queueing: before the first one; both as parts of the requests' durations
//
//	CRITICAL PATH of POST /predict
//	  bound by compute 75.0 %, communication 4.3 %, host 20.7 %
//	  operation      kind        device     time   share  segments
//	  matmul         compute     cuda:0  4.00 ms  66.7 %         5
//	  POST /predict  host                1.24 ms  20.7 %        10
//	  embed          compute     cuda:0   500 µs   8.3 %         5
//	  allreduce      collective  cuda:0   260 µs   4.3 %         5
//
//	SLOW REQUESTS of POST /predict
//	  the slowest tenth, 1 of 2.80 ms on average, against the half around the median, 2 of 800 µs: 2.00 ms more, on the critical path
//	  operation      kind        device     slow  typical  difference    of it
//	  matmul         compute     cuda:0  2.40 ms   400 µs     2.00 ms  100.0 %
//	  POST /predict  host                 247 µs   248 µs    -1.50 µs   -0.1 %
//	  allreduce      collective  cuda:0  53.0 µs  51.5 µs     1.50 µs    0.1 %
//	  embed          compute     cuda:0   100 µs   100 µs        0 ns    0.0 %
//
//	REQUESTS, the slowest 2 of 5
//	  request        service  start                           duration  operations      uncovered       queueing  mostly       trace                             span
//	  POST /predict  api      2026-11-21T01:22:04.030000000Z   2.80 ms           3   247 µs (9 %)   150 µs (5 %)  86 % matmul  000000000000000000000000000000a3  0000000000000001
//	  POST /predict  api      2026-11-21T01:22:04.000000000Z    800 µs           3  250 µs (31 %)  150 µs (19 %)  50 % matmul  000000000000000000000000000000a0  0000000000000001
//
// With -jaeger it asks Jaeger for the traces of a service, or for those that the
// input has operations of, joins both sides by trace and span id, and links
// every row to Jaeger's pages:
//
//	optrace correlate -jaeger http://localhost:16686 -service api -since 1h ops.jsonl
//
// # Exit codes
//
//	0  fine; an input without operations is fine too
//	1  the command worked, and a gate that was asked for failed
//	2  wrong usage
//	3  an input could not be read, or is of no known format; Jaeger does not answer
//	4  the output could not be written
//
// # Environment
//
// Output to a terminal is coloured unless NO_COLOR is set. Where standard error
// is a terminal, reading that takes long shows its progress there.
package main
