// Package shapes builds the attributes of shapes, each once.
//
// An attribute that holds nested slices costs several allocations to build, and equal attributes compare faster when they
// share their memory. A [Cache] therefore keeps the attributes of the shapes it has seen. It knows nothing of operations: the
// Tracer and the Recorder of package optrace collect shapes in a [Key] and ask for the attribute when the operation ends.
//
// A Cache allocates nothing before it is used, two tables of 64 KiB then, and at most 16,384 attributes. Those of matrix
// products take about 3 MiB, and others never more than 20 MiB.
package shapes
