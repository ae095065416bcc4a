// Package diff compares runs of a program: which operations became slower or faster from a
// base to a head, by how much, and whether that can be told from chance.
//
//	base, err := diff.NewRun("base.jsonl", report, by, true) // of analyze.Run with diff.ReportOptions(by)
//	…
//	compared, err := diff.Compare([]*diff.Run{base}, []*diff.Run{head}, diff.Options{})
//
// Durations of one run are not independent of one another: a slow moment makes many operations
// slow. What is compared are therefore the geometric means of larger units, named in the report:
//
//   - runs, where a side has several of them: a run is one value. That is the only unit
//     that tells a change from what differs between runs anyway.
//   - steps, where each side is one run of at least ten iterations: up to twenty blocks of
//     consecutive iterations.
//   - windows, where operations have starts: twenty equal parts of the time of the run, for
//     operations that occur in at least ten of them on both sides.
//   - entries, otherwise: each operation is a value.
//
// The test is the two-sided Mann–Whitney U test. The p-values of all rows are adjusted
// together by Holm's method, so that the probability of any false finding is at most Alpha.
// The change is the estimate of Hodges and Lehmann, the median of the differences of all pairs
// of units, with the interval that belongs to the test. A row with fewer than five units
// on a side, or with so few that no difference could be found, is not decided.
//
// The package does no input or output.
package diff
