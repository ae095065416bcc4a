// Package attr says what attributes of spans mean. Exporters and readers know the conventions of
// package tensorconv, and some keys of others; a [Mapping] adds keys of one's own:
//
//	var m attr.Mapping
//	m.Alias("engine.layer", string(tensorconv.OpPathKey)) // means what tensor.op.path does
//	m.Keep("model")                                       // appears in op.Entry.Attrs
//	m.KeepAll()                                           // as everything does then
//
// Complete a Mapping before it is used; it is then safe for concurrent use.
package attr

import "github.com/optrace/optrace/internal/model/attrmap"

// Mapping is a table from attribute keys to what they mean: the conventions, and the keys that
// are added to them. A nil *Mapping is the conventions alone.
//
//	func (m *Mapping) Alias(key, like string)
//
// Alias makes key mean what like does, a key of the conventions. It yields to the keys of the
// conventions and takes precedence over names such as "device", which other instrumentation
// uses too.
//
//	func (m *Mapping) Keep(key string)
//
// Keep makes the values of key appear in [op.Entry].Attrs and [op.Span].Attrs, a list or map as JSON. An entry or span
// without the attribute has that of its scope, or else that of its resource.
//
//	func (m *Mapping) KeepAll()
//
// KeepAll keeps every attribute that a writer of spans would not write again from the entry's
// fields, of an [op.Span] every one, and what else a span has in Extra: conversions ask for it, and
// reading takes longer. Of the SDK's spans, which package optrace converts, attributes are kept only.
type Mapping = attrmap.Mapping

// Want is what whoever looks at the records of an input wants of them.
type Want = attrmap.Want
