// Package diff compares runs of a program: it finds the operations that became slower or faster from a base to a head,
// estimates the change, and tells it from chance.
//
//	compared, err := diff.Files(ctx, []string{"base.jsonl"}, []string{"head.jsonl"}, diff.Options{})
//
// [Compare] does the same for runs made by [NewRun] from reports.
//
// Durations of one run depend on each other: a slow moment slows many operations. The comparison therefore uses
// geometric means of larger units. The report names the unit:
//
//   - runs, if a side has several. A run is one value. Only this unit tells a change from the differences between runs.
//   - steps, if each side is one run of at least ten iterations: up to twenty blocks of consecutive iterations.
//   - windows, if operations have starts: twenty equal parts of the run's time, for operations found in at least ten of
//     them on both sides.
//   - entries otherwise: each operation is a value.
//
// The test is the two-sided Mann–Whitney U test. Holm's method adjusts the p-values of all rows together: the
// probability of any false finding is at most Alpha. The change is the Hodges–Lehmann estimate, the median of the
// differences of all pairs of units, with the interval of the test. Rows with fewer than five units on a side, or too
// few for any significant difference, stay undecided.
//
// [Files] reads files. All other functions do no input or output.
package diff
