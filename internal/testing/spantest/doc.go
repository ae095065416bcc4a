// Package spantest has what tests of the exporting side share: finished spans,
// fixed and random ones, exporters that keep spans, writers that are stuck or
// faulty, and what readers find in what was written.
//
// Only tests import it. It knows nothing of the root package, so that the tests
// of every package below that one can use it too.
package spantest
