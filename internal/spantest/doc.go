// Package spantest has what tests of the exporting side share: finished spans,
// fixed and random ones, exporters that keep spans, and writers that are slow,
// stuck or faulty.
//
// Only tests import it. It knows nothing of the root package, so that the tests
// of every package below that one can use it too. Reading entries back is left to
// the tests, which use package op.
package spantest
