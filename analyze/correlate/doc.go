// Package correlate joins operations with service traces, and finds the operations that made a request slow.
//
// It joins the spans of a tracing backend with a local batch by trace id and span id. Either side may be absent. A
// request is a local root that is no operation, such as the server span of an HTTP request. For each request and each
// endpoint the report has the latency, the parts of the critical path, the time without an operation, and the parts on
// which slow requests of an endpoint spend more time than typical ones:
//
//	j := correlate.NewJoin()
//	for … { j.AddLocal(rec) }   // from the local batch
//	for … { j.AddService(rec) } // from the tracing backend
//	report := j.Report(correlate.Options{})
//
// A batching engine runs one step for several requests, and links the step to their spans. The time of the step's
// operations is divided among the requests, and the step is on the critical path of each.
//
// The local batch is more precise and wins if both sides hold a span. A report of a complete local batch alone
// therefore agrees with the report of the join.
//
// The package does no input or output.
package correlate
