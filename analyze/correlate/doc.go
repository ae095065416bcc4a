// Package correlate joins operations with the service traces that they belong
// to, and says which operation made a request slow.
//
// The spans of a tracing backend and those of a local batch are joined by trace
// and span id; either side may be absent. A request is
// a local root that is no operation, such as the server span of an HTTP
// request. For each request and for each endpoint the report has the latency, the
// parts of the critical path, the time that no operation covers, and the parts on
// which the slow requests of an endpoint spend more time than the typical ones:
//
//	j := correlate.NewJoin()
//	for … { j.AddLocal(rec) }   // from the local batch
//	for … { j.AddService(rec) } // from the tracing backend
//	report := j.Report(correlate.Options{})
//
// An engine that batches runs one step for several requests, and says so by links
// from the step to spans of the requests. The time of the step's operations is
// divided among them, and the step is on the critical path of each.
//
// The local batch is the more precise side and wins where both hold a span. So
// the report of a local batch alone agrees with that of the join, as far as the
// batch is complete.
//
// The package does no input or output.
package correlate
