// Package doctor says what a recording lacks: of which operations a start, a device, a
// parent, a shape and so on is not known, which figures of a report that costs, and what to
// add to an engine so that it is recorded, in Go and in any other language.
//
//	report, err := doctor.Run(ctx, ingest.Open("ops.jsonl"))
//
// It reads an input once and keeps counts, a bounded table of the names of operations, and
// a bounded sample of ids, by which it knows parents and linked spans that are not in the
// input: up to 65,536 ids all of them, beyond that a share that is the same whatever the
// order of the records.
//
// What is lost on the way or cannot be read is not its business; that is the envelope of
// every report, package analyze. The package does no input or output.
package doctor
