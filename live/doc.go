// Package live profiles the tensor operations of its own program and shows them in the browser while the program runs,
// as net/http/pprof does for functions.
//
// A [Processor] is an OpenTelemetry SpanProcessor. It sums up every finished operation since the start of the program,
// in a profile sharded to avoid lock contention, and holds the latest operations with the spans above them. Its Handler
// serves the page of optrace report -html for these operations, and keeps it up to date.
//
//	lp, err := live.NewProcessor()
//	…
//	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(lp))
//	http.Handle("/debug/optrace/", lp.Handler())
//
// With [WithMeterProvider] it also records metrics of the operations.
//
// # Limits
//
// The profile has at most 10,000 rows of operations and 10,000 rows of devices; further ones share a row. It takes at
// most 128 MiB. Names of more than 256 bytes are cut. FLOPs are the recorded ones; they are not derived from shapes as
// operations end. The latest operations are 20,000 by default, see [WithWindow]. Each takes about 80 bytes, or some 800
// if its attributes are not shared, until the page is opened, and some 500 bytes more from then on, with at most 64 MiB
// for a window. Attributes of more than 8 KiB are cut. Reports are computed on request, one at a time.
//
// The handler answers every client. Like the handler of net/http/pprof it belongs on a private server; it checks
// neither users nor host names.
//
// The exporters of package optrace write operations to files; package render/html writes the page.
package live
