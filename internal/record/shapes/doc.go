// Package shapes builds the attributes of shapes, each once.
//
// An attribute of nested slices costs several allocations, and equal attributes compare faster in shared memory. A [Cache]
// therefore keeps the attributes of shapes. The Tracer and the Recorder of package optrace collect shapes in a [Key] and
// get the attribute when the operation ends.
//
// A Cache allocates on its first use, and takes 12 MiB at most by default. It then has up to 16,384 attributes; attributes
// of matrix products take about 3 MiB.
package shapes
