// Package findings states the bottleneck of a run and the changes to make it faster.
//
// Of turns the figures of a report into findings, the most important first: lost data, the bound, then the largest
// savings. A comparison of devices or requests becomes a finding only if its p-value is at most 0.01. Package analyze
// collects the Facts. All renderers show the same list.
package findings
