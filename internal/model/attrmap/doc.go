// Package attrmap is the mapping from the attributes of spans to operations. A [Builder] makes
// entries of them, as a [Mapping] says. It is the only place that knows attribute keys and
// encodings: the OTel exporter, the file readers and the Collector components feed it.
// [Write] goes the other way.
package attrmap
