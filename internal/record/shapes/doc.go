// Package shapes builds the attributes of shapes, each once.
//
// An attribute that holds nested slices costs several allocations to build, and equal attributes compare faster when they
// share their memory. A [Cache] therefore keeps the attributes of the shapes it has seen. It knows nothing of operations: the
// Tracer and the Recorder of package optrace collect shapes in a [Key] and ask for the attribute when the operation ends.
//
// A Cache allocates nothing before it is used, and takes 12 MiB at most, or what it is told. It then has up to 16,384 attributes;
// those of matrix products take about 3 MiB.
package shapes
