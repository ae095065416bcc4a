// Package optrace records tensor operations as OpenTelemetry spans and turns
// finished spans into op entries that can be profiled.
//
// An engine records its operations with a [Tracer], or with any tracer and the
// attributes of package tensorconv. A [Processor] registered in the
// TracerProvider converts every finished operation into an entry and hands
// batches of entries to an [Exporter], which writes them as JSON Lines. The
// optrace command and package analyze profile those files: per operation and
// per device, memory, load balance, communication, critical path, collapsed
// stacks.
//
//	exp, err := optrace.NewFileExporter("ops.jsonl")
//	proc, err := optrace.NewProcessor(exp)
//	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc), sdktrace.WithRawSpanLimits(optrace.SpanLimits()))
//	defer tp.Shutdown(ctx)
//
//	tr := optrace.NewTracer(tp)
//	ctx, mm := tr.Start(ctx, "matmul", "cuda:0")
//	defer mm.In(64, 784).In(784, 256).Out(64, 256).End()
//
// The operations are ordinary spans: they have the request as their ancestor,
// and a second span processor, see [NewForwarder], may send them on to a Collector
// or to Jaeger.
//
// # Terms
//
// An operation is a span with the attribute tensor.op.name or another one of the
// conventions, see package tensorconv. An entry is the record of an operation in a
// file. An ancestry record is that of a span above operations, such as a request.
// A gap record says how many entries were lost before it, and why. The local root
// of an operation is the span above it that has no parent in this process.
//
// # Errors
//
// Nothing in this package panics into the application, whatever the writer or
// the attributes do; errors that no caller can receive go to the error handler
// of OpenTelemetry.
package optrace
