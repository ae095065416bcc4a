// Package tree tests the tree of the repository rather than what its packages do: what may import what, the listings of the
// API, and what the documents say of the code.
//
// Its tests run the go tool on every package, and only with the build tag tree, as make lint does:
//
//	go test -tags tree ./internal/testing/tree
package tree
