// Package pdataop reads the operations among the Collector's spans.
//
// It hands the attributes of a span to an [attrmap.Builder], which is the mapping from
// attributes to entries, without a copy of the span. The components of this module
// use it; it knows neither their configurations nor what becomes of the entries.
package pdataop
