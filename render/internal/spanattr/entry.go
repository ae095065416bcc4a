package spanattr

import (
	"strings"

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

// Entry passes the attributes of an operation to a sink. The caller writes the
// fields for which formats have other places: e.Attrs, the rank and service, the
// scope, ids, times, the error and the sampling.
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

// Int passes an integer to a sink if it is known.
func Int(to Sink, key string, n op.Int) {
	if n.Known {
		to.Int(key, n.V)
	}
}

// str passes a text to a sink unless it is empty.
func str(to Sink, key, value string) {
	if value != "" {
		to.Str(key, value)
	}
}

// kind passes the kind if a reader would infer another one.
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

// tensors passes the known properties of inputs and output.
func tensors(to Sink, e *op.Entry) {
	if e.InputShapes != nil {
		to.Shapes(op.KeyInputShapes, e.InputShapes)
	}
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

// notes passes the fields that neither spans nor the convention have.
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
