// Package doctor finds the properties missing in a recording, such as starts, devices, parents or shapes. For each it
// lists the affected operations, the affected figures of a report, and code to record the property, in Go and
// as attributes for any other language.
//
//	report, err := doctor.Run(ctx, ingest.Open("ops.jsonl"))
//
// It reads an input once. It keeps counts, a bounded table of operation names, and a bounded sample of span ids to find
// missing parents and linked spans: all ids up to 65,536, beyond that a share independent of the order of records.
//
// Lost and unreadable records are not its subject: the envelope of every report counts them, see package analyze. The
// package does no input or output.
package doctor
