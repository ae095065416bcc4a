// Package path finds critical paths: the chain of work that decided a duration.
//
// [Of] returns the path of a node. [Figures] divides the paths of all traces by operation, and adds the drag: the time
// saved in all traces if the operation took no time. Package requests divides the path of a request by cause.
package path
