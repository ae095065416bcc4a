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
// There are two tiers behind it, which can be used on their own. A [Profile] sums
// up operations as they come, in memory that grows with the number of groups and
// not with the number of operations; its sums are exact integers, so that profiles
// of parts merge to the profile of the whole. A [Forest] keeps the structure of a
// run: what ran below what, when and where. It takes some tens of bytes per
// operation and answers what sums cannot, such as the requests and their critical
// paths.
//
// Package seed has the analyses of the recorder that this project started from,
// package correlate joins operations with the traces of services.
//
// Durations are int64 nanoseconds in fields that end in NS, sizes int64 bytes in
// fields that end in Bytes. The package reads and writes no files.
package analyze
