// Package otlpprofiles writes the operations of a run as OpenTelemetry profiles, in OTLP's protobuf and JSON:
// ProfilesData of opentelemetry.proto.profiles.v1development, for the Collector and profile stores.
//
// There is a profile for each value and producer of a stacks.Table, over one dictionary: time, self, count, bytes and
// flops, as package render/pprof defines them. A sample is a row of the table, in the profiles of its non-zero values.
// Its attributes are the device, the kind, the shapes and the name of the request. Its link leads to the span of the
// request, so that stores can join the cost of operations with traces.
//
// The frame of an operation on a CUDA device has profile.frame.type "cuda", as in OpenTelemetry's registry of
// attributes; the registry has no types for other devices.
//
// In every table of the dictionary the zero element comes first, elements are distinct, and each one is referred to.
// The profiles of each producer, a service, a rank or a host, belong to a resource with its attributes, see
// [Producers]. All have the comments of pprof.
//
// The whole message is built in memory, bounded by the limits of the table.
package otlpprofiles
