// Package suspects finds operations and spans whose times or parents cannot be right: what is
// still running when a later operation of its stream has ended, what starts long before its
// parent or after it, cycles, and repeats.
//
// [Find] returns them, [Examples] describes the worst of each kind, and [Without] tells which
// rows figures leave out that are made without them.
package suspects
