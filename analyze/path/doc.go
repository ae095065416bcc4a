// Package path finds critical paths: the chain of work that decided how long something took.
//
// [Of] returns the path of a node and [All] that of each trace; a [Summary] divides paths by
// operation, and [Figures] has the drag too: how much shorter the traces would be without an
// operation. Package requests divides the path of a request by what it waited for.
package path
