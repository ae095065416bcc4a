// Package path finds critical paths: the chain of work that decided how long something took.
//
// [Of] returns the path of a node; [Figures] divides the paths of all traces by operation, with
// the drag: how much shorter the traces would be without an operation. Package requests divides
// the path of a request by what it waited for.
package path
