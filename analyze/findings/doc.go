// Package findings says in words what a run was bound by, and what would make it faster.
//
// Of returns the findings of the figures of a report, the most important first: what is missing where
// that is much, the bound, and then whatever would save most. What is a comparison, of devices or of
// requests, is a finding only if chance explains it in one of a hundred cases at most. Package analyze
// collects the Facts, renderers show the same list everywhere.
package findings
