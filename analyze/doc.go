// Package analyze computes every figure that optrace prints. [Run] reads an
// input and returns the [Report] on it:
//
//	rep, err := analyze.Run(ctx, ingest.Open("ops.jsonl"), analyze.Options{})
//	if err != nil {
//		return err
//	}
//	fmt.Println(rep.Total.Count, rep.Operations[0].Operation)
//
// A report encodes to JSON in the form optrace.report/v1 and decodes from it.
//
// The figures are made by packages below this one, each of which can be used on its own, and
// whose rows are the fields of a report. Package profile sums up operations as they come, in
// memory that does not grow with their number. Package trace keeps operations and spans with
// their structure, in up to a hundred bytes each, and timeline, path, requests, launch,
// collective, clocks, steps, sequences, suspects and stacks are functions of that. Here stand
// what reads an input and counts its faults ([Envelope]), assembles a report, and writes
// partial results ([Partial]).
//
// Package seed has the analyses of the recorder that this project started from, correlate joins
// operations with the traces of services, diff compares runs, and doctor says what a recording
// lacks.
//
// Durations are int64 nanoseconds in fields that end in NS, sizes int64 bytes in fields that end
// in Bytes. No package of these reads or writes files.
package analyze
