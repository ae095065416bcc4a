package op

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// Entry is one finished operation.
//
// A reader overwrites the Entry that it returned when it reads the next one; use [Entry.Clone] to keep it. The strings may
// be kept.
type Entry struct {
	// Step is the iteration of the training or generation loop. In a seed trace it is the ordinal of the operation.
	Step Int
	// Operation is the name, such as "matmul". It has few distinct values.
	Operation string
	// Kind classifies the operation, and KindRule tells how. Files keep the rule for collectives only.
	Kind     Kind
	KindRule KindRule
	Side     Side // SideHost for the host's part of an operation with entries on a device
	// Path is the layer or module, such as "encoder.0.attention". In a trace with annotations it joins the ranges
	// around the operation, outermost first, by PathSeparator.
	Path string

	DeviceID    string // the device as recorded, such as "cuda:0"; "" if unknown
	EmptyDevice bool   // set if the source names a device "", as seed traces may
	Stream      Int    // the device's queue
	Rank        Int    // the process in a distributed job

	// InputShapes holds a shape per input, nil for an unknown one. It is nil if the inputs are unknown.
	InputShapes []Shape
	// InputDTypes holds the element types of the inputs.
	InputDTypes []DType
	OutputShape Shape // nil when not known; Shape{} is a scalar
	DType       DType // the element type of the output, "" if unknown

	Start    Int   // in Unix nanoseconds
	Duration int64 // in nanoseconds and never negative
	Launch   Int   // when the host launched the operation, in Unix nanoseconds
	// LaunchedBy is the name of the innermost host operator around the launch, and LaunchSpanID its span. Only some
	// traces state them; package analyze/trace infers others from times.
	LaunchedBy   string
	LaunchSpanID SpanID
	// StepName is the name of the host's step range, such as "ProfilerStep#12". It is "" if the operation states its
	// step itself. Phase is the part of the step, such as "prefill" or "backward"; "" if unknown.
	StepName string
	Phase    string

	OutputElements Int // the number of elements of the output
	MemoryBytes    Int // the size of the output, or a size stated by the engine
	FLOPs          Int // the number of floating-point operations

	Failed bool   // set if the operation ended in an error
	Error  string // describes the error

	// TraceID, SpanID and ParentSpanID place the operation in its trace.
	TraceID      TraceID
	SpanID       SpanID
	ParentSpanID SpanID
	// Root and RootSpanID name the local root span above the operation.
	Root       string
	RootSpanID SpanID

	// Service is the service.name of the resource, Host its host.name, Scope the
	// instrumentation scope. Files keep the host in the resource only.
	Service string
	Host    string
	Scope   string

	// Collective describes a collective operation, nil for others.
	Collective *Collective

	// AdjustedCount is the number of operations the entry stands for under sampling, 0 if unknown.
	AdjustedCount float64
	// DroppedAttributes counts the attributes dropped by the SDK's limits.
	DroppedAttributes int64

	// Attrs holds the attributes kept on request, see [attr.Mapping.Keep].
	Attrs []Attr

	Links []Link // the linked spans

	// Extra holds the rest of the span. It is nil unless the reader was asked for it.
	Extra *Extra

	Warn Warning // the set of problems in the source of the entry
}

// PathSeparator separates the ranges in a path.
const PathSeparator = "/"

// End returns the end in Unix nanoseconds, unknown if the start is.
func (e *Entry) End() Int {
	if !e.Start.Known {
		return Int{}
	}
	return Known(e.Start.V + e.Duration)
}

// HasDevice reports whether the source names a device.
func (e *Entry) HasDevice() bool { return e.DeviceID != "" || e.EmptyDevice }

// Throughput returns output elements per microsecond, 0 for unknown elements or a duration of 0.
func (e *Entry) Throughput() float64 {
	if e.Duration == 0 {
		return 0
	}
	return float64(e.OutputElements.V) / (float64(e.Duration) / 1000)
}

// Clone returns a deep copy of e. It shares strings only.
func (e *Entry) Clone() *Entry {
	own := *e
	own.InputShapes = slices.Clone(e.InputShapes)
	for i, s := range own.InputShapes {
		own.InputShapes[i] = slices.Clone(s)
	}
	own.OutputShape = slices.Clone(e.OutputShape)
	own.InputDTypes = slices.Clone(e.InputDTypes)
	own.Attrs = slices.Clone(e.Attrs)
	own.Links = cloneLinks(e.Links)
	own.Extra = e.Extra.clone()
	if e.Collective != nil {
		collective := *e.Collective
		own.Collective = &collective
	}
	return &own
}

// Side is the side of a launch, host or device.
type Side uint8

// The sides.
const (
	SideNone Side = iota // an operation recorded once, by far the usual case
	// SideHost is the host's view of an operation with device entries of its own. Device sums leave it out.
	SideHost
)

// String returns "host" for SideHost and "" for SideNone.
func (s Side) String() string {
	if s == SideHost {
		return "host"
	}
	return ""
}

// SetName sets the value to the one called word, and returns the warning about an unknown word.
func (s *Side) SetName(word string) Warning {
	if *s = SideNone; word == SideHost.String() {
		*s = SideHost
	}
	return warnUnless(*s != SideNone || word == "", WarnBadValue)
}

// Collective describes a collective operation.
type Collective struct {
	Name string // the collective, such as "all_reduce"
	// Group names the process group, GroupSize is the number of its ranks.
	Group     string
	GroupSize Int
	// Sequence numbers the collectives of a group; with the group's name it identifies one collective across ranks.
	Sequence Int
	PeerRank Int // the other side of a send or receive
	// InElements and OutElements are the message sizes in elements.
	InElements  Int
	OutElements Int
}

// Validate returns all violated invariants, joined. Readers and builders make entries without violations.
func (e *Entry) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(e.Operation != "", "operation is empty")
	for _, text := range []struct{ name, v string }{
		{"operation", e.Operation}, {"path", e.Path}, {"device_id", e.DeviceID}, {"dtype", string(e.DType)},
		{"error", e.Error}, {"root", e.Root}, {"launched_by", e.LaunchedBy}, {"step_name", e.StepName},
		{"phase", e.Phase},
		{"service", e.Service}, {"host", e.Host}, {"scope", e.Scope},
	} {
		check(utf8.ValidString(text.v), "%s is not UTF-8: %q", text.name, text.v)
	}
	check(e.Duration >= 0, "duration is negative: %d ns", e.Duration)
	check(e.Start.V <= math.MaxInt64-max(0, e.Duration), "the end does not fit: start %d, duration %d ns", e.Start.V,
		e.Duration)
	check(e.Kind.String() != "", "unknown kind: %d", e.Kind)
	checkShape(check, "output_shape", e.OutputShape)
	check(len(e.InputShapes) <= MaxInputs, "more than %d input shapes", MaxInputs)
	for i, s := range e.InputShapes {
		checkShape(check, fmt.Sprintf("input_shapes[%d]", i), s)
	}
	for _, n := range []struct {
		name string
		v    Int
	}{
		{"output_elements", e.OutputElements}, {"memory_bytes", e.MemoryBytes}, {"flops", e.FLOPs}, {"rank", e.Rank},
		{"stream", e.Stream},
	} {
		check(n.v.V >= 0, "%s is negative: %d", n.name, n.v.V)
		check(n.v.Known || n.v.V == 0, "%s is unknown but not 0: %d", n.name, n.v.V)
	}
	check(e.DeviceID == "" || !e.EmptyDevice, "device_id is marked empty: %q", e.DeviceID)
	check(e.Failed || e.Error == "", "an error, but not failed: %q", e.Error)
	count := e.AdjustedCount
	check(count == 0 || count >= 1 && !math.IsInf(count, 1), "adjusted_count is %g", count)
	check(!e.TraceID.IsZero() || e.ParentSpanID.IsZero() || e.Warn&WarnBadID != 0, "a parent without a trace")
	check(e.Warn < warnEnd, "unknown warnings: %#x", uint32(e.Warn))
	return errors.Join(errs...)
}

func checkShape(check func(bool, string, ...any), name string, s Shape) {
	check(len(s) <= MaxRank, "%s has more than %d dimensions", name, MaxRank)
	for _, d := range s {
		check(d >= Dynamic, "%s has a dimension of %d", name, d)
	}
}
