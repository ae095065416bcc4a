// Package analyze computes every figure that optrace prints. [File] reads a file and returns its [Report]:
//
//	rep, err := analyze.File(ctx, "ops.jsonl", analyze.Options{})
//	if err != nil {
//		return err
//	}
//	fmt.Println(rep.Total.Count, rep.Operations[0].Operation)
//
// [Run] does the same for any [Source]. A report encodes to JSON in the form optrace.report/v1 and decodes from it.
//
// The packages below compute the figures. Each can be used alone, and its rows are fields of a report:
//
//   - profile sums up operations as they arrive. Its memory does not grow with their number.
//   - trace stores operations and spans with their structure, in at most a hundred bytes each.
//   - timeline, path, requests, launch, collective, clocks, steps, sequences, suspects and stacks analyse a trace.
//   - seed repeats the analyses of the first recorder.
//   - correlate joins operations with the traces of services, diff compares runs, and doctor lists missing data.
//
// Package analyze itself reads the input, counts its faults ([Envelope]), assembles the report and writes
// partial results ([Partial]).
//
// Fields ending in NS are int64 nanoseconds, fields ending in Bytes are int64 bytes.
package analyze
