// Package tree tests the repository as a whole: import rules, the listings of the API, and the agreement
// of documents and code.
//
// Its tests run the go tool on every package. They need the build tag tree, which make lint sets:
//
//	go test -tags tree ./internal/testing/tree
package tree
