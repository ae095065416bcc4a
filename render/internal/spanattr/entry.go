package spanattr

import (
	"slices"
	"strings"

	"github.com/optrace/optrace/op"
)

// Sink takes attributes in the types that they have by the convention. What it
// is given belongs to the caller.
type Sink interface {
	Str(key, value string)
	Int(key string, value int64)
	DTypes(key string, list []op.DType)
	Shape(key string, shape op.Shape)
	// Shapes takes a list in which nil stands for a shape that could not be read.
	Shapes(key string, list []op.Shape)
}

// Entry gives a sink the attributes that tell what an operation is. It leaves
// to the caller what formats have other places for: e.Attrs, the rank and
// service, the scope, ids, times, the error and the sampling.
func Entry(to Sink, e *op.Entry) {
	to.Str(op.KeyName, e.Operation)
	kind(to, e)
	str(to, op.KeySide, e.Side.String())
	str(to, op.KeyPath, e.Path)
	str(to, op.KeyDevice, e.DeviceID)
	Int(to, op.KeyStream, e.Stream)
	Int(to, op.KeyStep, e.Step)
	tensors(to, e)
	collective(to, e.Collective)
	notes(to, e)
}

// Int gives a sink an integer that is known.
func Int(to Sink, key string, n op.Int) {
	if n.Known {
		to.Int(key, n.V)
	}
}

// str gives a sink a text that is not empty.
func str(to Sink, key, value string) {
	if value != "" {
		to.Str(key, value)
	}
}

// kind states the kind where a reader would find another one.
func kind(to Sink, e *op.Entry) {
	kind, rule := op.InferKind(e.Operation)
	if e.Collective != nil {
		kind, rule = op.KindCollective, op.RuleAttribute
	}
	if e.Kind == kind && e.KindRule == rule || e.Kind == op.KindUnknown {
		return
	}
	to.Str(op.KeyKind, e.Kind.String())
	if e.KindRule != op.RuleAttribute {
		to.Str(op.KeyKindRule, e.KindRule.String())
	}
}

// tensors states what is known of inputs and output.
func tensors(to Sink, e *op.Entry) {
	inputs(to, e)
	if e.InputDTypes != nil {
		to.DTypes(op.KeyInputDTypes, e.InputDTypes)
	}
	if e.OutputShape != nil {
		to.Shape(op.KeyOutputShape, e.OutputShape)
	}
	if n, _ := e.OutputShape.Elements(); n != e.OutputElements {
		Int(to, op.KeyOutputElements, e.OutputElements)
	}
	str(to, op.KeyDType, string(e.DType))
	Int(to, op.KeyMemory, e.MemoryBytes)
	Int(to, op.KeyFLOPs, e.FLOPs)
}

// inputs states the shapes of the inputs. In a list, readers take a hole for a
// shape that could not be read; where nothing says that one could not be read,
// the others are numbered instead.
func inputs(to Sink, e *op.Entry) {
	if e.InputShapes == nil {
		return
	}
	hole := func(s op.Shape) bool { return s == nil }
	if !slices.ContainsFunc(e.InputShapes, hole) || e.Warn&op.WarnBadShape != 0 {
		to.Shapes(op.KeyInputShapes, e.InputShapes)
		return
	}
	for i, s := range e.InputShapes {
		if s != nil {
			to.Shape(op.InputShapeKey(i), s)
		}
	}
}

func collective(to Sink, c *op.Collective) {
	if c == nil {
		return
	}
	str(to, op.KeyCollective, c.Name)
	str(to, op.KeyGroup, c.Group)
	Int(to, op.KeyGroupSize, c.GroupSize)
	Int(to, op.KeySequence, c.Sequence)
	Int(to, op.KeyPeerRank, c.PeerRank)
	Int(to, op.KeyInElements, c.InElements)
	Int(to, op.KeyOutElements, c.OutElements)
}

// notes states what spans and the convention have no field for.
func notes(to Sink, e *op.Entry) {
	Int(to, op.KeyLaunch, e.Launch)
	str(to, op.KeyRoot, e.Root)
	if !e.RootSpanID.IsZero() {
		to.Str(op.KeyRootSpan, e.RootSpanID.String())
	}
	if e.Warn != 0 {
		var names []string
		for w := range e.Warn.All() {
			names = append(names, w.String())
		}
		to.Str(op.KeyWarnings, strings.Join(names, ","))
	}
}
