package workload

import (
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// Spec is what an operation of the graph is about. It does not change once made.
type Spec struct {
	Name   string
	Device string
	DType  op.DType
	Inputs [][]int64
	Output []int64

	// median is that of its durations, in nanoseconds.
	median float64
	attrs  []attribute.KeyValue
}

// Attributes returns the five attributes of the operation's span.
func (s *Spec) Attributes() []attribute.KeyValue { return s.attrs }

// prepare builds the attributes.
func (s *Spec) prepare(textShapes bool) *Spec {
	s.attrs = []attribute.KeyValue{tensorconv.OpName(s.Name), tensorconv.DeviceID(s.Device), tensorconv.DType(s.DType)}
	if textShapes {
		s.attrs = append(s.attrs, tensorconv.InputShapesText(s.Inputs...), attribute.String(op.KeyOutputShape, op.Shape(s.Output).String()))
	} else {
		s.attrs = append(s.attrs, tensorconv.InputShapes(s.Inputs...), tensorconv.OutputShape(s.Output...))
	}
	return s
}

// on returns the same operation on another device.
func (s *Spec) on(device string, textShapes bool) *Spec {
	c := *s
	c.Device = device
	return c.prepare(textShapes)
}

// numDevices is how many devices there are.
const numDevices = 8

func deviceName(i int) string { return "cuda:" + strconv.Itoa(i) }

// Specs returns n operations as one device runs them: those of the graph again
// and again, or with random as many that do not repeat.
func Specs(n int, random bool) []*Spec {
	c := Config{Ops: n, Mix: G512}
	if random {
		c.Mix = Random
	}
	s := c.streams()[0]
	specs := make([]*Spec, 0, n)
	for len(specs) < n {
		if span := s.next(); span.Op != nil {
			specs = append(specs, span.Op)
		}
	}
	return specs
}
