// Package otlpprofiles writes the operations of a run as OpenTelemetry profiles, in
// OTLP's protobuf and JSON: ProfilesData of opentelemetry.proto.profiles.v1development,
// which the Collector receives and profile stores take.
//
// There is a profile per value and producer of a stacks.Table, over one dictionary: time, self, count,
// bytes and flops, as package render/pprof defines them. A sample is a row of the table,
// in those profiles where its value is not 0. Its attributes are the device, the kind, the
// shapes and the name of the request, and its link leads to the span of the request, by
// which stores join what operations cost with traces.
//
// The frame of an operation that a CUDA device computed has profile.frame.type "cuda", as OpenTelemetry's
// registry of attributes calls it; the registry has no types for other devices.
//
// In every table of the dictionary the zero element comes first, no element is there
// twice, and each one is referred to. The profiles of each producer, which is a service, a
// rank or a host, are those of a resource with its attributes, see [Producers]. All have the
// comments of pprof.
//
// The whole message is built in memory, which the limits of the table bound.
package otlpprofiles
