// Package optrace records tensor operations as OpenTelemetry spans and writes
// them into a file for the optrace command and package analyze.
//
// A [Tracer] starts operations. A [Processor] in the TracerProvider turns each
// finished operation into an entry. An [Exporter] writes the entries as JSON Lines.
//
//	sdk, err := optrace.Setup("ops.jsonl")
//	defer sdk.Shutdown(ctx)
//
//	tr := sdk.Tracer()
//	ctx, mm := tr.Start(ctx, "matmul", "cuda:0")
//	defer mm.In(64, 784).In(784, 256).Out(64, 256).End()
//
// Operations are ordinary spans below the request's span. [NewForwarder] sends
// them on to a Collector or to Jaeger. A program with its own TracerProvider uses
// [ProviderOptions], or [NewFileExporter] with [NewProcessor].
//
// A Processor encodes each span as it ends and hands the writer of its Exporter whole batches; it does not
// call ExportSpans, because ExportSpans takes spans, and a Processor does not keep spans in memory.
//
// # Three ways to record
//
//	the operation        record it with
//	is about to run      Tracer.Start … Op.End, or Prepared.Start if it repeats
//	has ended            Prepared.Record, with its times
//	needs no span        Recorder.Begin or Recorder.Record … Recorder.Finish
//
// The first two make spans for all span processors. A [Recorder] of a Processor
// makes entries for this Processor only, at a fraction of a span's cost. A [Queue]
// records operations of a device behind the host, as spans or as entries.
// docs/recording.md lists the costs.
//
// # Terms
//
// An operation is a span with the attribute tensor.op.name or another attribute of package tensorconv.
// An entry is the record of an operation in a file. An ancestry record is the
// record of a span above operations, such as a request. A gap record holds the number of
// entries lost before it, and the reason. The local root of an operation
// is the topmost span above it in this process.
//
// # Errors
//
// Constructors return an error for an invalid option and ignore nil options.
// The package does not panic into the application, even if a writer or an
// attribute panics. Errors without a caller go to OpenTelemetry's error handler.
package optrace
