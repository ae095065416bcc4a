// Package live profiles the tensor operations of the program that it is in, and shows
// them in the browser while the program runs, as net/http/pprof does for its functions.
//
// A [Processor] is an OpenTelemetry SpanProcessor. It sums up every operation that ends,
// since the start of the program, in a profile that goroutines do not contend for, and
// holds the latest operations and the spans above them. Its Handler serves the page of
// optrace report -html on those, which keeps up with what comes in.
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
// The profile has a row per operation and device, 10,000 of each at most, whatever the
// number of operations. Its FLOPs are those that were recorded; what follows from shapes is
// not computed as operations end. The latest operations are 20,000 by default, see [WithWindow]; each takes
// about 80 bytes until somebody opens the page, and some 500 bytes more from then on, for
// which a window has 256 MiB at most. Attributes of more than 8 KiB are cut. A report is
// computed when it is asked for, one at a time.
//
// The handler answers whoever can reach it. Like that of net/http/pprof it belongs on a
// server that is not public; it checks neither users nor host names.
//
// The package stands beside the exporters of package optrace, which write operations to
// files; the page itself is that of render/html.
package live
