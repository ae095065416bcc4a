// Package stepping traces the operations of a GoMLX program, on any of GoMLX's
// backends and without a change to it.
//
// A backend of GoMLX compiles a graph as a whole and runs it out of sight: what wraps
// a [backends.Backend] sees how the graph is built and when it runs, and nothing in
// between. [Backend] compiles each operation of the graph by itself, through the same
// public interface, and runs them one after the other. It records each with its
// name, its layer, shapes, element types and FLOPs, below the span of [Backend.SetContext].
//
// The results are those of the backend below. What gets lost is what a backend does across
// operations: fusing them, and running independent ones at the same time. Buffers are
// still reused: an operation gets those that no later one needs.
//
// The limits: one device, no sharding. A constant is no operation, and an operation that
// no output depends on does not run.
//
// The methods of operations.go are generated from GoMLX's interface, see internal/forward.
// Package optrace records, and the program above this folder is an example of the use.
package stepping

//go:generate go run ./internal/forward -o operations.go
