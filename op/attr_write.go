package op

import (
	"strings"
)

// AttrSink receives attributes in the types of the convention. It must not retain the
// values.
type AttrSink interface {
	Str(key, value string)
	Int(key string, value int64)
	DTypes(key string, list []DType)
	Shape(key string, shape Shape)
	// Shapes receives a list; nil is a shape that is not known.
	Shapes(key string, list []Shape)
}

// WriteAttrs passes the attributes that say what the fields of the entry do to a sink,
// the reverse of what a [Builder] does. It leaves out those that are among e.Attrs,
// and warnings that a reader finds again. The caller writes e.Attrs, and the fields for
// which formats have other places: the rank and service, the scope, ids, times, the
// error, the sampling and links.
func (e *Entry) WriteAttrs(to AttrSink) {
	w := attrWriter{to: to, given: e.Attrs}
	if r := e.replay(); r != nil {
		said := attrTexts{}
		r.WriteAttrs(said)
		w.to, w.found = unsaidSink{to, said}, r.Warn
	}
	w.str(KeyName, e.Operation)
	w.kind(e)
	w.str(KeySide, e.Side.String())
	w.str(KeyPath, e.Path)
	w.str(KeyDevice, e.DeviceID)
	w.int(KeyStream, e.Stream)
	w.int(KeyStep, e.Step)
	w.tensors(e)
	w.collective(e.Collective)
	w.notes(e)
}

// attrWriter passes attributes to a sink, unless they are among others.
type attrWriter struct {
	to    AttrSink
	given []Attr
	found Warning // in the attributes given
}

func (w *attrWriter) wants(key string) bool { return findAttr(w.given, key) == nil }

// int passes an integer if it is known.
func (w *attrWriter) int(key string, n Int) {
	if n.Known && w.wants(key) {
		w.to.Int(key, n.V)
	}
}

// str passes a text unless it is empty.
func (w *attrWriter) str(key, value string) {
	if value != "" && w.wants(key) {
		w.to.Str(key, value)
	}
}

// kind passes the kind if a reader would infer another one.
func (w *attrWriter) kind(e *Entry) {
	kind, rule := InferKind(e.Operation)
	if e.Collective != nil {
		kind, rule = KindCollective, RuleAttribute
	}
	if e.Kind == kind && e.KindRule == rule || e.Kind == KindUnknown || !w.wants(KeyKind) {
		return
	}
	w.str(KeyKind, e.Kind.String())
	if e.KindRule != RuleAttribute {
		w.str(KeyKindRule, e.KindRule.String())
	}
}

// tensors passes the known properties of inputs and output.
func (w *attrWriter) tensors(e *Entry) {
	if e.InputShapes != nil && w.wants(KeyInputShapes) {
		w.to.Shapes(KeyInputShapes, e.InputShapes)
	}
	if e.InputDTypes != nil && w.wants(KeyInputDTypes) {
		w.to.DTypes(KeyInputDTypes, e.InputDTypes)
	}
	if e.OutputShape != nil && w.wants(KeyOutputShape) {
		w.to.Shape(KeyOutputShape, e.OutputShape)
	}
	if n, _ := e.OutputShape.Elements(); n != e.OutputElements {
		w.int(KeyOutputElements, e.OutputElements)
	}
	w.str(KeyDType, string(e.DType))
	w.int(KeyMemory, e.MemoryBytes)
	w.int(KeyFLOPs, e.FLOPs)
}

func (w *attrWriter) collective(c *Collective) {
	if c == nil {
		return
	}
	w.str(KeyCollective, c.Name)
	w.str(KeyGroup, c.Group)
	w.int(KeyGroupSize, c.GroupSize)
	w.int(KeySequence, c.Sequence)
	w.int(KeyPeerRank, c.PeerRank)
	w.int(KeyInElements, c.InElements)
	w.int(KeyOutElements, c.OutElements)
}

// notes passes the fields that neither spans nor the convention have.
func (w *attrWriter) notes(e *Entry) {
	w.int(KeyLaunch, e.Launch)
	w.str(KeyRoot, e.Root)
	if !e.RootSpanID.IsZero() {
		w.str(KeyRootSpan, e.RootSpanID.String())
	}
	if warn := e.Warn &^ e.warnFound() &^ w.found; warn != 0 {
		var names []string
		for w := range warn.All() {
			names = append(names, w.String())
		}
		w.str(KeyWarnings, strings.Join(names, ","))
	}
}

// warnFound returns the warnings that a reader of the fields finds again.
func (e *Entry) warnFound() (found Warning) {
	if e.DroppedAttributes > 0 {
		found |= WarnDroppedAttributes
	}
	if e.Extra != nil && e.Extra.DroppedLinks > 0 {
		found |= WarnDroppedLinks
	}
	if n, w := e.OutputShape.Elements(); n == e.OutputElements {
		found |= w
	}
	if n, w := e.derivedMemory(); n == e.MemoryBytes {
		found |= w
	}
	if _, ok := ParseDType(string(e.DType)); !ok && e.DType != "" {
		found |= WarnUnknownDType
	}
	return found
}
