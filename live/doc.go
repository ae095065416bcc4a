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
// With [WithMeterProvider] it also records metrics of the operations, and with
// [WithProfilePush] it sends a profile of each interval to a receiver of OpenTelemetry
// profiles.
//
// # Limits
//
// The profile has a row per operation and a row per device, 10,000 of each at most; further ones share a row. That
// takes 128 MiB at most. Names of more than 256 bytes are cut. Its FLOPs are those that were recorded; what follows from shapes is
// not computed as operations end. The latest operations are 20,000 by default, see [WithWindow]; each takes
// about 80 bytes, or some 800 where its attributes lie in memory that no other has, until
// somebody opens the page, and some 500 bytes more from then on, for which a window has
// 64 MiB at most. Attributes of more than 8 KiB are cut. A report is
// computed when it is asked for, one at a time.
//
// Pushing costs nothing where it is not asked for. Where it is, operations that have ended
// wait to be folded into the profile of the interval in the background, 131,072 at most, with
// some 110 bytes each; when half of that is taken, they are folded before the interval is
// over. The profile of an interval has 16,384 stacks, 32,768 of them with different shapes and
// 65,536 of those of different requests; what is beyond goes into rows of others. At
// most 65,536 operations wait for one above them that still runs; any more do not wait, and
// the self time of that operation has theirs in it. So does that of an operation whose
// span tells only at its end that it is one.
//
// The handler answers whoever can reach it. Like that of net/http/pprof it belongs on a
// server that is not public; it checks neither users nor host names.
//
// The package stands beside the exporters of package optrace, which write operations to
// files; the page itself is that of render/html.
package live
