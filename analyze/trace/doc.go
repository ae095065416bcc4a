// Package trace stores the operations and spans of an input with their structure.
//
// A [Forest] keeps them in columns, one row each, in input order, and numbers their names, traces and devices. From the
// first query on it has the tree of spans, the operations of each device by start, the spans working for
// several requests ([Execution]), and the collectives stated by operations.
//
//	forest := trace.New()
//	for rec, err := range records {
//		...
//		forest.Add(rec)
//	}
//	for n := range forest.Nodes() {
//		fmt.Println(n.Name(), n.Parent().Name())
//	}
//
// Analyses are functions of a forest in sibling packages: timeline, path, requests, collective, launch, steps,
// sequences, suspects, stacks. They use the methods with row numbers; other programs use [Node].
package trace
