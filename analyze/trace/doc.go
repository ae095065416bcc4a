// Package trace holds the operations and spans of an input, and their structure.
//
// A [Forest] keeps them in columns, one row each, in the order of the input, and numbers
// their names, traces and devices. It knows what lies below what, what ran on each device
// by start, which spans work for which requests ([Execution]) and what operations state of
// collectives. Add records, and ask; the structure is made when it is first asked for.
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
// The analyses are packages beside this one, with functions of a forest: timeline, path,
// requests, collective, launch, steps, sequences, suspects, stacks. Methods that take or
// return numbers of rows are for them; other programs use a [Node].
package trace
