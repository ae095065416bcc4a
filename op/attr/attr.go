// Package attr maps attributes of spans to the fields of records. Exporters and readers know the conventions of package
// tensorconv and some keys of others; a [Mapping] adds keys:
//
//	var m attr.Mapping
//	m.Alias("engine.layer", string(tensorconv.OpPathKey)) // engine.layer means tensor.op.path
//	m.Keep("model")                                       // appears in op.Entry.Attrs
//	m.KeepAll()                                           // every attribute appears there
//
// Complete a Mapping before its first use. It is then safe for concurrent use.
package attr

import "github.com/optrace/optrace/internal/model/attrmap"

// Mapping is a table from attribute keys to their meaning: the conventions and added keys. A nil *Mapping has the
// conventions only.
//
//	func (m *Mapping) Alias(key, like string)
//
// Alias gives key the meaning of like, a key of the conventions. Keys of the conventions take precedence over it. It takes
// precedence over generic names such as "device".
//
//	func (m *Mapping) Keep(key string)
//
// Keep copies the values of key to [op.Entry].Attrs and [op.Span].Attrs, a list or map as JSON. An entry or span without
// the attribute has the value of its scope or else of its resource.
//
//	func (m *Mapping) KeepAll()
//
// KeepAll keeps every attribute that a writer could not restore from the entry's fields, every attribute of an [op.Span],
// and the rest of a span in Extra. Conversions use it; reading takes longer. From spans of the SDK it keeps attributes
// only.
type Mapping = attrmap.Mapping

// Want lists the parts of an input's records that a consumer needs.
type Want = attrmap.Want
