// Package spans makes records of OTLP messages in memory, in JSON and in protobuf: of resources, scopes and spans.
// Package otlp finds the messages in files and streams.
//
// Each encoding has two readers of spans. The canonical reader (json_canonical.go, proto_canonical.go) reads the usual
// encoding of known programs in one pass. The other one (span.go, value.go) reads any valid encoding field by field,
// with the same code for both encodings, and reports errors. Tests and fuzz targets compare the two.
//
// Attributes go straight into an [attrmap.Builder], without messages in between.
package spans
