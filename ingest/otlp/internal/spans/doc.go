// Package spans makes records of OTLP's messages in memory, in JSON and in protobuf: of resources, scopes and spans.
// Finding these in files and streams is package otlp's concern.
//
// Each encoding has two readers of spans. The canonical one (json_canonical.go, proto_canonical.go) reads spans encoded
// as known programs encode them, in one pass. Any other span is read field by field (span.go, value.go), in either
// encoding by the same code over a message: it accepts everything that the specification does and reports errors. Tests
// and fuzz targets hold the two against each other.
//
// The mapping from attributes to fields is [attrmap.Builder]'s; the attributes go straight into it, without messages in
// between.
package spans
