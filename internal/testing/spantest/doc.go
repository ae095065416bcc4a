// Package spantest has common helpers for tests of exporting: fixed and random finished spans, exporters
// that keep spans, stuck and faulty writers, and a reader of written files.
//
// Only tests import it. It does not import the root package, so that all packages below can use it.
package spantest
