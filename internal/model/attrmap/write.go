package attrmap

import (
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// Attrs returns the attributes for the fields of an entry, the reverse of a [Builder]. It leaves out attributes among
// e.Attrs and warnings that a reader finds again. Formats have other places for e.Attrs, the rank and service, the
// scope, ids, times, the error, the sampling and links.
func Attrs(e *op.Entry) []op.Attr {
	w := attrWriter{given: e.Attrs}
	if r := replay(e); r != nil {
		w.found = r.Warn
		w.write(e)
		said := Attrs(r)
		alike := slices.DeleteFunc(w.attrs, func(a op.Attr) bool { return !slices.Contains(said, a) })
		w.given = slices.Concat(w.given, alike)
		w.attrs = nil
	}
	w.write(e)
	return w.attrs
}

type attrWriter struct {
	attrs, given []op.Attr
	found        op.Warning    // in given
	texts        *intern.Table // of values; nil makes new texts
	text         []byte        // of one value
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

func (w *attrWriter) wants(key string) bool { return opmodel.FindAttr(w.given, key) == nil }

func (w *attrWriter) int(key string, n op.Int) {
	if n.Known {
		w.text = strconv.AppendInt(w.text[:0], n.V, 10)
		w.add(key, op.AttrInt)
	}
}

func (w *attrWriter) str(key, value string) {
	if w.wants(key) {
		w.attrs = opmodel.AppendText(w.attrs, key, value)
	}
}

func (w *attrWriter) add(key string, typ op.AttrType) {
	switch {
	case !w.wants(key):
	case w.texts != nil:
		w.attrs = append(w.attrs, op.Attr{Key: key, Value: w.texts.String(w.text), Type: typ})
	default:
		w.attrs = append(w.attrs, op.Attr{Key: key, Value: string(w.text), Type: typ})
	}
}

func (w *attrWriter) kind(e *op.Entry) {
	kind, rule := op.InferKind(e.Operation)
	if e.Collective != nil {
		kind = op.KindCollective
		rule = op.RuleAttribute
	}
	if e.Kind == kind && e.KindRule == rule || e.Kind == op.KindUnknown || !w.wants(attrkey.Kind) {
		return
	}
	w.str(attrkey.Kind, e.Kind.String())
	if e.KindRule != op.RuleAttribute {
		w.str(attrkey.KindRule, e.KindRule.String())
	}
}

// Fields in [attrkey.Unknown].
const (
	unknownMemory   = "memory_bytes"
	unknownElements = "output_elements"
)

func (w *attrWriter) tensors(e *op.Entry) {
	if e.InputShapes != nil {
		w.text = op.AppendShapesJSON(w.text[:0], e.InputShapes)
		w.add(attrkey.InputShapes, op.AttrJSON)
	}
	if e.InputDTypes != nil {
		w.text = scalar.AppendStrings(w.text[:0], e.InputDTypes)
		w.add(attrkey.InputDTypes, op.AttrJSON)
	}
	if e.OutputShape != nil {
		w.text = e.OutputShape.AppendJSON(w.text[:0])
		w.add(attrkey.OutputShape, op.AttrJSON)
	}
	unknown := ""
	if n, _ := e.OutputShape.Elements(); n != e.OutputElements {
		w.int(attrkey.OutputElements, e.OutputElements)
		if !e.OutputElements.Known && e.Warn&op.WarnShapeTruncated == 0 {
			unknown = unknownElements
		}
	}
	w.str(attrkey.DType, string(e.DType))
	w.int(attrkey.Memory, e.MemoryBytes)
	if n, _ := opmodel.DerivedMemory(e); n.Known && !e.MemoryBytes.Known && e.Warn&op.WarnBadMemory == 0 {
		unknown = unknownMemory // and the elements are known
	}
	w.str(attrkey.Unknown, unknown)
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

// replay returns the entry that a reader makes of e.Attrs alone, nil if they make none or have keys of the conventions
// only. Spans with keys such as "op" or of torch.profiler keep their own keys.
func replay(e *op.Entry) *op.Entry {
	if !slices.ContainsFunc(e.Attrs, func(a op.Attr) bool {
		family := (*Mapping)(nil).find(a.Key).family
		return family != familyNone && family != familyTensor
	}) {
		return nil
	}
	b := NewBuilder(nil)
	b.Reset()
	b.SetName(e.Operation)
	if e.Extra != nil && e.Extra.Name != "" {
		b.SetName(e.Extra.Name)
	}
	for _, a := range e.Attrs {
		b.SetAttr(a)
	}
	r, ok := b.Entry()
	if !ok {
		return nil
	}
	return r
}
