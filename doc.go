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
//	sdk, err := optrace.Setup("ops.jsonl")
//	defer sdk.Shutdown(ctx)
//
//	tr := sdk.Tracer()
//	ctx, mm := tr.Start(ctx, "matmul", "cuda:0")
//	defer mm.In(64, 784).In(784, 256).Out(64, 256).End()
//
// The operations are ordinary spans: they have the request as their ancestor,
// and a second span processor, see [NewForwarder], may send them on to a Collector
// or to Jaeger. A program with a TracerProvider of its own takes [ProviderOptions], or
// makes the parts with [NewFileExporter] and [NewProcessor].
//
// # Which way to record
//
//	the operation                        record it with
//	is about to run                      Tracer.Start … End
//	… and repeats                        Tracer.Prepare, Prepared.Start
//	… and needs no span, follows others  Processor.Recorder, Begin … Finish
//	has ended, its times are known       Prepared.Record, Tracer.Record
//	… and needs no span                  Recorder.Record, RecordPrepared … Finish
//	runs on a device behind the host     Queue, which records with either
//
// What makes a span costs about what a span of the SDK with the same attributes costs; other span
// processors see it. A Recorder costs a part of that; what a Recorder of a [Processor] records no other
// span processor sees. Tracer.Record prepares the operation anew each time, which is for operations that
// do not repeat. docs/recording.md has the costs of all ways, and what was measured.
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
// Options with values that make no sense are errors of the constructors; nil options are ignored.
// Nothing in this package panics into the application, whatever the writer or
// the attributes do; errors that no caller can receive go to the error handler
// of OpenTelemetry.
package optrace
