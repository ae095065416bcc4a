package attrmap

import (
	"slices"
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
		w.found = r.Warn
		w.given = append(slices.Clip(w.given), w.common(e, r)...)
	}
	w.write(e)
}

// attrWriter passes attributes to a sink, unless they are among others.
type attrWriter struct {
	to    Sink
	given []op.Attr
	found op.Warning // in the attributes given
}

func (w *attrWriter) write(e *op.Entry) {
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

// common returns the attributes that say of e what those of r say, without their values.
func (w *attrWriter) common(e, r *op.Entry) (alike []op.Attr) {
	said := map[string]string{}
	Write(r, &textSink{take: func(key string, _ op.AttrType, value []byte) { said[key] = string(value) }})
	own := *w
	own.to = &textSink{take: func(key string, _ op.AttrType, value []byte) {
		if text, ok := said[key]; ok && text == string(value) {
			alike = append(alike, op.Attr{Key: key})
		}
	}}
	own.write(e)
	return alike
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

// textSink hands on attributes as the texts that are kept of them.
type textSink struct {
	take    func(key string, typ op.AttrType, value []byte)
	scratch []byte
}

var _ Sink = (*textSink)(nil)

func (t *textSink) Str(key, value string) {
	t.scratch = append(t.scratch[:0], value...)
	t.take(key, op.AttrText, t.scratch)
}

func (t *textSink) Int(key string, value int64) {
	t.scratch = strconv.AppendInt(t.scratch[:0], value, 10)
	t.take(key, op.AttrInt, t.scratch)
}

func (t *textSink) DTypes(key string, list []op.DType) {
	text := listText{t.scratch}
	text.start()
	for _, d := range list {
		text.str(string(d))
	}
	text.close()
	t.scratch = text.buf
	t.take(key, op.AttrJSON, t.scratch)
}

func (t *textSink) Shape(key string, shape op.Shape) {
	t.scratch = shape.AppendJSON(t.scratch[:0])
	t.take(key, op.AttrJSON, t.scratch)
}

func (t *textSink) Shapes(key string, list []op.Shape) {
	t.scratch = op.AppendShapesJSON(t.scratch[:0], list)
	t.take(key, op.AttrJSON, t.scratch)
}
