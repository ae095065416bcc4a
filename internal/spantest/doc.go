// Package spantest has what tests of the exporting side share: finished spans,
// fixed and random ones, exporters that keep spans, and writers that are slow,
// stuck or faulty.
//
// Only tests import it. It knows nothing of the root package, so that the tests
// of every package below that one can use it too. Reading back what was written
// is left to each test: the formats differ.
package spantest
