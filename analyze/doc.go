// Package analyze computes every figure that optrace prints.
//
// There are two tiers. A [Profile] is streaming and mergeable: what it keeps
// grows with the number of groups, not with the number of entries, and its
// sums are exact integers, so that the result is the same for any number of
// workers. A [Forest] keeps a few columns per entry and computes what needs the
// structure: self time, orphans, the timeline of each device, idle gaps, the
// critical path. [Input] counts what the figures were computed from, and
// [NewReport] puts the three together.
//
//	for rec, err := range reader.Records() {
//		in.Add(rec, err)
//		if rec.Entry != nil {
//			profile.Add(rec.Entry)
//			trace.Add(rec.Entry)
//		}
//	}
//	in.EndFile(format, size)
//	report := analyze.NewReport(in, profile, trace, opts)
//
// The analyses of the recorder this project started from are in package seed.
//
// Durations are int64 nanoseconds, sizes int64 bytes; every JSON key carries
// its unit. The package reads and writes no files.
package analyze
