// Package attrmap maps the attributes of spans to operations: a [Builder] makes entries by a [Mapping], and [Write]
// makes attributes again. It alone knows attribute keys and encodings. The OTel exporter, the file readers and the
// Collector components feed it.
package attrmap
