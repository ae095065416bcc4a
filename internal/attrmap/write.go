package attrmap

import (
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/op"
)

// Sink receives attributes in the types of the convention. It must not retain the
// values.
type Sink interface {
	Str(key, value string)
	Int(key string, value int64)
	DTypes(key string, list []op.DType)
	Shape(key string, shape op.Shape)
	// Shapes receives a list; nil is a shape that is not known.
	Shapes(key string, list []op.Shape)
}

// Write passes the attributes that say what the fields of an entry do to a sink,
// the reverse of what a [Builder] does. It leaves out those that are among e.Attrs,
// and warnings that a reader finds again. The caller writes e.Attrs, and the fields for
// which formats have other places: the rank and service, the scope, ids, times, the
// error, the sampling and links.
func Write(e *op.Entry, to Sink) {
	w := attrWriter{to: to, given: e.Attrs}
	if r := replay(e); r != nil {
		said := attrTexts{}
		Write(r, said)
		w.to, w.found = unsaidSink{to, said}, r.Warn
	}
	w.str(attrkey.Name, e.Operation)
	w.kind(e)
	w.str(attrkey.Side, e.Side.String())
	w.str(attrkey.Path, e.Path)
	w.str(attrkey.Device, e.DeviceID)
	w.int(attrkey.Stream, e.Stream)
	w.int(attrkey.Step, e.Step)
	w.str(attrkey.Phase, e.Phase)
	w.tensors(e)
	w.collective(e.Collective)
	w.notes(e)
}

// attrWriter passes attributes to a sink, unless they are among others.
type attrWriter struct {
	to    Sink
	given []op.Attr
	found op.Warning // in the attributes given
}

func (w *attrWriter) wants(key string) bool { return opmodel.FindAttr(w.given, key) == nil }

// int passes an integer if it is known.
func (w *attrWriter) int(key string, n op.Int) {
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
func (w *attrWriter) kind(e *op.Entry) {
	kind, rule := op.InferKind(e.Operation)
	if e.Collective != nil {
		kind, rule = op.KindCollective, op.RuleAttribute
	}
	if e.Kind == kind && e.KindRule == rule || e.Kind == op.KindUnknown || !w.wants(attrkey.Kind) {
		return
	}
	w.str(attrkey.Kind, e.Kind.String())
	if e.KindRule != op.RuleAttribute {
		w.str(attrkey.KindRule, e.KindRule.String())
	}
}

// tensors passes the known properties of inputs and output.
func (w *attrWriter) tensors(e *op.Entry) {
	if e.InputShapes != nil && w.wants(attrkey.InputShapes) {
		w.to.Shapes(attrkey.InputShapes, e.InputShapes)
	}
	if e.InputDTypes != nil && w.wants(attrkey.InputDTypes) {
		w.to.DTypes(attrkey.InputDTypes, e.InputDTypes)
	}
	if e.OutputShape != nil && w.wants(attrkey.OutputShape) {
		w.to.Shape(attrkey.OutputShape, e.OutputShape)
	}
	if n, _ := e.OutputShape.Elements(); n != e.OutputElements {
		w.int(attrkey.OutputElements, e.OutputElements)
	}
	w.str(attrkey.DType, string(e.DType))
	w.int(attrkey.Memory, e.MemoryBytes)
	w.int(attrkey.FLOPs, e.FLOPs)
}

func (w *attrWriter) collective(c *op.Collective) {
	if c == nil {
		return
	}
	w.str(attrkey.Collective, c.Name)
	w.str(attrkey.Group, c.Group)
	w.int(attrkey.GroupSize, c.GroupSize)
	w.int(attrkey.Sequence, c.Sequence)
	w.int(attrkey.PeerRank, c.PeerRank)
	w.int(attrkey.InElements, c.InElements)
	w.int(attrkey.OutElements, c.OutElements)
}

// notes passes the fields that neither spans nor the convention have.
func (w *attrWriter) notes(e *op.Entry) {
	w.int(attrkey.Launch, e.Launch)
	w.str(attrkey.Root, e.Root)
	if !e.RootSpanID.IsZero() {
		w.str(attrkey.RootSpan, e.RootSpanID.String())
	}
	w.str(attrkey.LaunchedBy, e.LaunchedBy)
	if !e.LaunchSpanID.IsZero() {
		w.str(attrkey.LaunchSpan, e.LaunchSpanID.String())
	}
	w.str(attrkey.StepName, e.StepName)
	if warn := e.Warn &^ warnFound(e) &^ w.found; warn != 0 {
		var names []string
		for w := range warn.All() {
			names = append(names, w.String())
		}
		w.str(attrkey.Warnings, strings.Join(names, ","))
	}
}

// warnFound returns the warnings that a reader of the fields finds again.
func warnFound(e *op.Entry) (found op.Warning) {
	if e.DroppedAttributes > 0 {
		found |= op.WarnDroppedAttributes
	}
	if e.Extra != nil && e.Extra.DroppedLinks > 0 {
		found |= op.WarnDroppedLinks
	}
	if n, w := e.OutputShape.Elements(); n == e.OutputElements {
		found |= w
	}
	if n, w := opmodel.DerivedMemory(e); n == e.MemoryBytes {
		found |= w
	}
	if _, ok := op.ParseDType(string(e.DType)); !ok && e.DType != "" {
		found |= op.WarnUnknownDType
	}
	return found
}

// replay returns the entry that a reader makes of the attributes in e.Attrs alone, nil
// where they are those of no operation, or all keys in them that mean something are of
// the convention. Spans of torch.profiler, and such as have keys like "op", are kept
// with their own keys, which need not be said again in those of the convention.
func replay(e *op.Entry) *op.Entry {
	if !hasOtherKeys(e.Attrs) {
		return nil
	}
	b := NewBuilder(nil)
	b.Reset()
	b.SetName(e.Operation)
	if e.Extra != nil && e.Extra.Name != "" {
		b.SetName(e.Extra.Name)
	}
	for _, a := range e.Attrs {
		if a.Type == op.AttrJSON && b.WantsList(a.Key) {
			a.Type = op.AttrText // a list in JSON means what the list does
		}
		b.SetAttr(a)
	}
	r, ok := b.Entry()
	if !ok {
		return nil
	}
	return r
}

// hasOtherKeys reports whether a key that is not of the convention means something.
func hasOtherKeys(attrs []op.Attr) bool {
	var none *Mapping
	for i := range attrs {
		if t := none.lookup(attrs[i].Key); t.family != familyNone && t.family != familyTensor {
			return true
		}
	}
	return false
}

// attrTexts is a sink that keeps a text of each attribute.
type attrTexts map[string]string

var _ Sink = attrTexts{}

// Str implements [attrmap.Sink].
func (t attrTexts) Str(key, value string) { t[key] = value }

// Int implements [attrmap.Sink].
func (t attrTexts) Int(key string, value int64) { t[key] = strconv.FormatInt(value, 10) }

// DTypes implements [attrmap.Sink].
func (t attrTexts) DTypes(key string, list []op.DType) {
	text := listText{}
	text.start()
	for _, d := range list {
		text.str(string(d))
	}
	text.close()
	t[key] = string(text.buf)
}

// Shape implements [attrmap.Sink].
func (t attrTexts) Shape(key string, shape op.Shape) { t[key] = string(shape.AppendJSON(nil)) }

// Shapes implements [attrmap.Sink].
func (t attrTexts) Shapes(key string, list []op.Shape) {
	t[key] = string(op.AppendShapesJSON(nil, list))
}

// unsaidSink passes on attributes that were not said.
type unsaidSink struct {
	to   Sink
	said attrTexts
}

var _ Sink = unsaidSink{}

// pass calls send with the sink unless the attribute that it sends was said.
func (u unsaidSink) pass(key string, send func(Sink)) {
	one := attrTexts{}
	send(one)
	if text, ok := u.said[key]; !ok || text != one[key] {
		send(u.to)
	}
}

// Str implements [attrmap.Sink].
func (u unsaidSink) Str(key, value string) { u.pass(key, func(to Sink) { to.Str(key, value) }) }

// Int implements [attrmap.Sink].
func (u unsaidSink) Int(key string, value int64) {
	u.pass(key, func(to Sink) { to.Int(key, value) })
}

// DTypes implements [attrmap.Sink].
func (u unsaidSink) DTypes(key string, list []op.DType) {
	u.pass(key, func(to Sink) { to.DTypes(key, list) })
}

// Shape implements [attrmap.Sink].
func (u unsaidSink) Shape(key string, shape op.Shape) {
	u.pass(key, func(to Sink) { to.Shape(key, shape) })
}

// Shapes implements [attrmap.Sink].
func (u unsaidSink) Shapes(key string, list []op.Shape) {
	u.pass(key, func(to Sink) { to.Shapes(key, list) })
}
