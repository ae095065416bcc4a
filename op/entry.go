package op

import "slices"

// Entry is one finished operation.
//
// An Entry handed out by a reader belongs to the reader and is overwritten by
// the next one; use [Entry.Clone] to keep it. The strings may be kept.
type Entry struct {
	// Step is the iteration of the training or generation loop, or in a seed
	// trace the ordinal of the operation.
	Step Int
	// Operation is the name, such as "matmul". It has few distinct values.
	Operation string
	// Kind classifies the operation, and KindRule tells how that was found. Files
	// keep the rule for collectives; other entries read back with the usual one.
	Kind     Kind
	KindRule KindRule
	// Side is SideHost for the host's part of an operation that also appears
	// on a device.
	Side Side
	// Path is the layer or module, such as "encoder.0.attention".
	Path string

	// DeviceID is the device as recorded, such as "cuda:0"; "" when not known.
	DeviceID string
	// Stream is the device's queue.
	Stream Int
	// Rank is the process in a distributed job.
	Rank Int

	// InputShapes holds a shape per input, nil for an input whose shape is not
	// known; it is nil when nothing is known of the inputs.
	InputShapes []Shape
	// InputDTypes holds the element types of the inputs.
	InputDTypes []DType
	// OutputShape is nil when not known; Shape{} is a scalar.
	OutputShape Shape
	// DType is the element type of the output, "" when not known.
	DType DType

	// Start is in Unix nanoseconds.
	Start Int
	// Duration is in nanoseconds and never negative.
	Duration int64
	// Launch is when the host launched the operation, in Unix nanoseconds.
	Launch Int

	// OutputElements is the number of elements of the output.
	OutputElements Int
	// MemoryBytes is the size of the output, or what the engine stated.
	MemoryBytes Int
	// FLOPs is the number of floating-point operations.
	FLOPs Int

	// Failed tells that the operation ended in an error, and Error describes it.
	Failed bool
	Error  string

	// TraceID, SpanID and ParentSpanID place the operation in its trace.
	TraceID      TraceID
	SpanID       SpanID
	ParentSpanID SpanID
	// Root and RootSpanID name the local root span above the operation.
	Root       string
	RootSpanID SpanID

	// Service is the service.name of the resource, Scope the instrumentation
	// scope.
	Service string
	Scope   string

	// Collective holds what is known of a collective operation, nil for others.
	Collective *Collective

	// AdjustedCount is how many operations the entry stands for under sampling
	// with a known probability; 0 when that is not known.
	AdjustedCount float64
	// DroppedAttributes is how many attributes the SDK's limits dropped.
	DroppedAttributes int64

	// Attrs holds the further attributes that were asked for.
	Attrs []Attr

	// Warn tells what was wrong with the source of the entry.
	Warn Warning
}

// End returns the end in Unix nanoseconds; unknown when the start is.
func (e *Entry) End() Int {
	if !e.Start.Known {
		return Int{}
	}
	return Known(e.Start.V + e.Duration)
}

// Throughput returns output elements per microsecond; 0 when the elements are
// not known or the duration is 0.
func (e *Entry) Throughput() float64 {
	if e.Duration == 0 {
		return 0
	}
	return float64(e.OutputElements.V) / (float64(e.Duration) / 1000)
}

// Clone returns a copy that shares nothing with e but strings. Its dimensions
// lie in one piece of memory.
func (e *Entry) Clone() *Entry {
	c := new(Entry)
	e.cloneTo(c)
	return c
}

func (e *Entry) cloneTo(c *Entry) {
	*c = *e
	n := len(e.OutputShape)
	for _, s := range e.InputShapes {
		n += len(s)
	}
	dims := make([]int64, 0, n)
	clone := func(s Shape) Shape {
		if s == nil {
			return nil
		}
		start := len(dims)
		dims = append(dims, s...)
		return Shape(dims[start:len(dims):len(dims)])
	}
	if e.InputShapes != nil {
		c.InputShapes = make([]Shape, len(e.InputShapes))
		for i, s := range e.InputShapes {
			c.InputShapes[i] = clone(s)
		}
	}
	c.OutputShape = clone(e.OutputShape)
	c.InputDTypes = slices.Clone(e.InputDTypes)
	c.Attrs = slices.Clone(e.Attrs)
	if e.Collective != nil {
		coll := *e.Collective
		c.Collective = &coll
	}
}

// Side tells on which side of a launch an entry was taken.
type Side uint8

// The sides.
const (
	// SideNone is an operation recorded once: by far the usual case.
	SideNone Side = iota
	// SideHost is the host's view of an operation whose device work has
	// entries of its own. It takes no part in device sums.
	SideHost
)

// String returns "host" for SideHost and "" for SideNone.
func (s Side) String() string {
	if s == SideHost {
		return "host"
	}
	return ""
}

// Collective describes a collective operation.
type Collective struct {
	// Name is the collective, such as "all_reduce".
	Name string
	// Group names the process group, GroupSize is the number of its ranks.
	Group     string
	GroupSize Int
	// Sequence numbers the collectives of a group; with the group's name it
	// identifies one collective across ranks.
	Sequence Int
	// PeerRank is the other side of a send or receive.
	PeerRank Int
	// InElements and OutElements are the message sizes in elements.
	InElements  Int
	OutElements Int
}

// Attr is a further attribute, its value as text.
type Attr struct {
	Key   string
	Value string
}
