// Package suspects finds operations and spans with impossible times or parents: operations still running when a later
// operation of their stream has ended, starts long before or after the parent, cycles, and repeats.
//
// [Find] returns them, [Examples] describes the worst of each kind, and [Without] selects the rows left out of figures
// without suspects.
package suspects
