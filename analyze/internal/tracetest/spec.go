package tracetest

import (
	"encoding/binary"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// Spec describes an operation or a span in few words; times are nanoseconds.
type Spec struct {
	IsOp       bool
	Name       string
	Service    string
	Trace      byte
	ID, Parent uint64
	Start, End int64
	Timeless   bool
	Remote     bool
	Kind       op.Kind
	Device     string
	Rank       op.Int
	Stream     op.Int
	Side       op.Side
	Step       op.Int
	Memory     int64
	Launch     op.Int
	Root       string
	RootID     uint64
	Links      []op.Link
	Launcher   string
	LauncherID uint64
	Dropped    int64 // links
	StepName   string
	Phase      string
	Usage      []op.Attr // tokens of a request
	// Graph is the launching CUDA graph, "?" for an unknown number. CapturedIn is the range around the capture.
	Graph, CapturedIn string
}

// OpAt is a computation on cuda:0 in trace 1.
func OpAt(name string, id, parent uint64, start, end int64) Spec {
	return Spec{
		IsOp: true, Name: name, Trace: 1, ID: id, Parent: parent, Start: start, End: end,
		Kind: op.KindCompute, Device: "cuda:0",
	}
}

// SpanAt is a span in trace 1.
func SpanAt(name string, id, parent uint64, start, end int64) Spec {
	return Spec{Name: name, Trace: 1, ID: id, Parent: parent, Start: start, End: end}
}

// On returns s on a device.
func (s Spec) On(device string) Spec { s.Device = device; return s }

// OnRank returns s on a rank.
func (s Spec) OnRank(rank int64) Spec { s.Rank = op.Known(rank); return s }

// OnStream returns s on a stream.
func (s Spec) OnStream(stream int64) Spec { s.Stream = op.Known(stream); return s }

// As returns s of a kind.
func (s Spec) As(kind op.Kind) Spec { s.Kind = kind; return s }

// In returns s in a trace.
func (s Spec) In(trace byte) Spec { s.Trace = trace; return s }

// FromHost returns s as the host's view of it.
func (s Spec) FromHost() Spec { s.Side = op.SideHost; return s }

// InStep returns s in a step.
func (s Spec) InStep(step int64) Spec { s.Step = op.Known(step); return s }

// Writing returns s with a memory size.
func (s Spec) Writing(bytes int64) Spec { s.Memory = bytes; return s }

// LaunchedAt returns s with a launch time.
func (s Spec) LaunchedAt(at int64) Spec { s.Launch = op.Known(at); return s }

// WithoutStart returns s without a start.
func (s Spec) WithoutStart() Spec { s.Timeless = true; return s }

// Of returns s of a service.
func (s Spec) Of(service string) Spec { s.Service = service; return s }

// To adds a link to a span in a trace.
func (s Spec) To(trace byte, id uint64) Spec {
	s.Links = append(slices.Clip(s.Links), op.Link{TraceID: op.TraceID{15: trace}, SpanID: idOf(id)})
	return s
}

// Tokens returns s with the tokens of a request.
func (s Spec) Tokens(in, out int64) Spec {
	number := func(key string, n int64) op.Attr {
		return op.Attr{Key: key, Value: strconv.FormatInt(n, 10), Type: op.AttrInt}
	}
	s.Usage = []op.Attr{{Key: attrkey.RequestModel, Value: "m"}, number(attrkey.InputTokens, in), number(attrkey.OutputTokens, out)}
	return s
}

// TraceID returns the id of the trace; zero for trace 0.
func (s Spec) TraceID() op.TraceID {
	if s.Trace == 0 {
		return op.TraceID{}
	}
	return op.TraceID{15: s.Trace}
}

// StartTime returns the start.
func (s Spec) StartTime() op.Int {
	if s.Timeless {
		return op.Int{}
	}
	return op.Known(s.Start)
}

// Entry returns the operation.
func (s Spec) Entry() *op.Entry {
	return &op.Entry{
		Operation: s.Name, Kind: s.Kind, Side: s.Side, DeviceID: s.Device, Rank: s.Rank, Stream: s.Stream, Step: s.Step,
		Start: s.StartTime(), Duration: s.End - s.Start, Launch: s.Launch, MemoryBytes: op.Known(s.Memory),
		TraceID: s.TraceID(), SpanID: idOf(s.ID), ParentSpanID: idOf(s.Parent), Service: s.Service,
		Root: s.Root, RootSpanID: idOf(s.RootID), Links: s.Links, Extra: &op.Extra{DroppedLinks: s.Dropped},
		LaunchedBy: s.Launcher, LaunchSpanID: idOf(s.LauncherID), StepName: s.StepName, Phase: s.Phase,
		Attrs: s.attrs(),
	}
}

func (s Spec) attrs() []op.Attr {
	if s.Graph == "" {
		return nil
	}
	if s.Graph == "?" {
		return []op.Attr{{Key: "tensor.launch.call", Value: "cudaGraphLaunch"},
			{Key: "graph node name", Value: s.CapturedIn}}
	}
	return []op.Attr{{Key: "graph id", Value: s.Graph, Type: op.AttrInt}, {Key: "graph node name", Value: s.CapturedIn}}
}

// Record returns s as a record.
func (s Spec) Record() op.Record {
	if s.IsOp {
		return op.Record{Entry: s.Entry()}
	}
	return op.Record{Span: s.Span()}
}

// Span returns the span.
func (s Spec) Span() *op.Span {
	return &op.Span{
		Name: s.Name, Service: s.Service, TraceID: s.TraceID(), SpanID: idOf(s.ID), ParentSpanID: idOf(s.Parent),
		RemoteParent: s.Remote, Start: s.StartTime(), Duration: s.End - s.Start, Links: s.Links, Attrs: s.Usage,
		Extra: &op.Extra{DroppedLinks: s.Dropped},
	}
}

// DeviceSide reports whether s counts for its device.
func (s Spec) DeviceSide() bool { return s.IsOp && s.Side == op.SideNone }

// DeviceKey returns the device of s if all specs belong to one service.
func (s Spec) DeviceKey() device.Key {
	k := device.Of(s.Entry())
	k.Service = ""
	return k
}

// AddTo adds specs to a forest and returns the forest.
func AddTo[F interface{ Add(op.Record) }](forest F, specs ...Spec) F {
	for _, s := range specs {
		forest.Add(s.Record())
	}
	return forest
}

// Horizon bounds the times of random specs, so that references can examine every nanosecond.
const Horizon = 120

// RandomSpecs returns n operations and spans with all faults of a structure: repeated and missing ids, missing, later
// and cyclic parents and parents in another trace, children outliving their parents, missing starts and durations.
func RandomSpecs(r *rand.Rand, n int) []Spec {
	specs := make([]Spec, n)
	for i := range specs {
		specs[i] = RandomSpec(r, n)
	}
	for i := range specs {
		if r.IntN(3) == 0 { // an existing parent
			above := specs[r.IntN(n)]
			specs[i].Trace = above.Trace
			specs[i].Parent = above.ID
		}
		if specs[i].IsOp && r.IntN(6) == 0 {
			specs[i] = specs[i].LaunchedBy(Pick(r, "", "aten::mm", "relu"), uint64(r.IntN(n+1)))
		}
		if specs[i].IsOp && r.IntN(8) == 0 {
			specs[i].Graph = Pick(r, "3", "4", "?")
			specs[i].CapturedIn = Pick(r, "", "layer")
		}
	}
	return specs
}

// RandomSpec returns one of n operations and spans.
func RandomSpec(r *rand.Rand, n int) Spec {
	s := Spec{
		IsOp: r.IntN(3) > 0, Name: Pick(r, "matmul", "relu", "add;x", "send", "a", "a b"), Service: Pick(r, "", "api"),
		Trace: byte(r.IntN(3)), ID: uint64(r.IntN(n + 1)), Parent: uint64(r.IntN(n + 2)),
		Start: r.Int64N(Horizon), Timeless: r.IntN(12) == 0, Remote: r.IntN(8) == 0,
	}
	s.End = s.Start + r.Int64N(Horizon-s.Start)
	if r.IntN(3) == 0 {
		s.Parent = 0
	}
	for r.IntN(6) == 0 {
		trace := 1 + r.IntN(2)
		id := 1 + r.IntN(n+1)
		l := op.Link{TraceID: op.TraceID{15: byte(trace)}, SpanID: idOf(uint64(id))}
		if r.IntN(2) == 0 {
			l.Weight = op.Known(r.Int64N(4))
		}
		if (id+trace)%4 > 0 {
			l.Attention = op.Known(int64(id*7) % 5)
		}
		s.Links = append(s.Links, l)
	}
	if len(s.Links) > 0 && r.IntN(3) == 0 {
		s.Dropped = 1 + r.Int64N(3)
	}
	if !s.IsOp {
		return s
	}
	s.Kind = Pick(r, op.KindCompute, op.KindCompute, op.KindCollective, op.KindMemory, op.KindIO)
	s.Device = Pick(r, "", "fpga:0", "fpga:1")
	s.Memory = r.Int64N(100)
	if r.IntN(2) == 0 {
		s.Rank = op.Known(r.Int64N(2))
	}
	if r.IntN(6) == 0 {
		s.Side = op.SideHost
	}
	if r.IntN(2) == 0 {
		s.Step = op.Known(r.Int64N(3))
	}
	if r.IntN(4) == 0 {
		s.Launch = op.Known(r.Int64N(Horizon))
	}
	if r.IntN(3) == 0 {
		s.Root = Pick(r, "GET /a", "GET /b")
		s.RootID = uint64(r.IntN(n + 2))
	}
	return s
}

// Pick returns one of the values.
func Pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func idOf(number uint64) (id op.SpanID) {
	binary.BigEndian.PutUint64(id[:], number)
	return id
}

// RecordsOf returns the records of specs. Operations get random shapes and attributes.
func RecordsOf(r *rand.Rand, specs []Spec) []op.Record {
	var records []op.Record
	weighted := r.IntN(2) == 0
	for i, s := range specs {
		if !s.IsOp {
			records = append(records, op.Record{Span: s.Span()})
			continue
		}
		e := s.Entry()
		more := RandomEntry(r, i)
		e.OutputShape = more.OutputShape
		e.InputShapes = more.InputShapes
		e.DType = more.DType
		e.InputDTypes = more.InputDTypes
		e.FLOPs = more.FLOPs
		e.OutputElements = more.OutputElements
		e.Attrs = more.Attrs
		e.Failed = more.Failed
		e.Error = more.Error
		e.KindRule = more.KindRule
		e.Warn = more.Warn
		e.EmptyDevice = e.DeviceID == "" && r.IntN(4) == 0
		if weighted && r.IntN(50) > 0 {
			e.AdjustedCount = 1 / (1 - r.Float64())
		}
		records = append(records, op.Record{Entry: e})
	}
	return records
}

// Names returns the names of nodes.
func Names[N interface{ Name() string }](nodes iter.Seq[N]) []string {
	var list []string
	for n := range nodes {
		list = append(list, n.Name())
	}
	return list
}

// Keys parses s and panics on errors.
func Keys(s string) []key.Key {
	list, err := key.Parse(s)
	if err != nil {
		panic(err)
	}
	return list
}

// EqualKeys compares reports independently of how keys are stored.
var EqualKeys = cmp.Options{cmp.AllowUnexported(key.Key{}), cmpopts.EquateEmpty()}

// TestPeaks has peaks of devices fpga:0 and fpga:1.
func TestPeaks() *peaks.Table {
	return &peaks.Table{Devices: []peaks.Device{
		{Match: "fpga:0", BytesPerSecond: 1e9, FLOPsPerSecond: map[op.DType]float64{op.F32: 1e9, op.F16: 1e10}},
		{Match: "fpga:1", BytesPerSecond: 3e9, FLOPsPerSecond: map[op.DType]float64{op.F32: 7e7}},
	}}
}
