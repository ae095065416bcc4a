package analyze

import (
	"encoding/binary"
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/optrace/optrace/analyze/internal/random"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/op"
)

// spec describes an operation or a span in few words; times are nanoseconds.
type spec struct {
	isOp       bool
	name       string
	service    string
	trace      byte
	id, parent uint64
	start, end int64
	timeless   bool
	remote     bool
	kind       op.Kind
	device     string
	rank       op.Int
	stream     op.Int
	side       op.Side
	step       op.Int
	memory     int64
	launch     op.Int
	root       string
	rootID     uint64
	links      []specLink
}

// specLink is a link to a span in a trace.
type specLink struct {
	trace  byte
	id     uint64
	weight op.Int
}

// opAt is a computation on cuda:0 in trace 1.
func opAt(name string, id, parent uint64, start, end int64) spec {
	return spec{
		isOp: true, name: name, trace: 1, id: id, parent: parent, start: start, end: end,
		kind: op.KindCompute, device: "cuda:0",
	}
}

// spanAt is a span in trace 1 that is no operation.
func spanAt(name string, id, parent uint64, start, end int64) spec {
	return spec{name: name, trace: 1, id: id, parent: parent, start: start, end: end}
}

func (s spec) on(device string) spec             { s.device = device; return s }
func (s spec) onRank(rank int64) spec            { s.rank = op.Known(rank); return s }
func (s spec) onStream(stream int64) spec        { s.stream = op.Known(stream); return s }
func (s spec) as(kind op.Kind) spec              { s.kind = kind; return s }
func (s spec) in(trace byte) spec                { s.trace = trace; return s }
func (s spec) fromHost() spec                    { s.side = op.SideHost; return s }
func (s spec) inStep(step int64) spec            { s.step = op.Known(step); return s }
func (s spec) writing(bytes int64) spec          { s.memory = bytes; return s }
func (s spec) launchedAt(at int64) spec          { s.launch = op.Known(at); return s }
func (s spec) under(root string, id uint64) spec { s.root, s.rootID = root, id; return s }
func (s spec) withoutStart() spec                { s.timeless = true; return s }
func (s spec) fromRemote() spec                  { s.remote = true; return s }
func (s spec) of(service string) spec            { s.service = service; return s }

// to adds a link to a span in a trace.
func (s spec) to(trace byte, id uint64) spec {
	s.links = append(slices.Clip(s.links), specLink{trace: trace, id: id})
	return s
}

// toPart adds a link with a weight.
func (s spec) toPart(trace byte, id uint64, weight int64) spec {
	s.links = append(slices.Clip(s.links), specLink{trace, id, op.Known(weight)})
	return s
}

func (s spec) opLinks() []op.Link {
	var links []op.Link
	for _, l := range s.links {
		links = append(links, op.Link{TraceID: op.TraceID{15: l.trace}, SpanID: idOf(l.id), Weight: l.weight})
	}
	return links
}

func (s spec) traceID() op.TraceID {
	if s.trace == 0 {
		return op.TraceID{}
	}
	return op.TraceID{15: s.trace}
}

func (s spec) startTime() op.Int {
	if s.timeless {
		return op.Int{}
	}
	return op.Known(s.start)
}

func (s spec) entry() *op.Entry {
	return &op.Entry{
		Operation: s.name, Kind: s.kind, Side: s.side, DeviceID: s.device, Rank: s.rank, Stream: s.stream, Step: s.step,
		Start: s.startTime(), Duration: s.end - s.start, Launch: s.launch, MemoryBytes: op.Known(s.memory),
		TraceID: s.traceID(), SpanID: idOf(s.id), ParentSpanID: idOf(s.parent), Service: s.service,
		Root: s.root, RootSpanID: idOf(s.rootID), Links: s.opLinks(),
	}
}

// record returns s as a reader hands it out.
func (s spec) record() op.Record {
	if s.isOp {
		return op.Record{Entry: s.entry()}
	}
	return op.Record{Span: s.span()}
}

func (s spec) span() *op.Span {
	return &op.Span{
		Name: s.name, Service: s.service, TraceID: s.traceID(), SpanID: idOf(s.id), ParentSpanID: idOf(s.parent),
		RemoteParent: s.remote, Start: s.startTime(), Duration: s.end - s.start, Links: s.opLinks(),
	}
}

// deviceSide reports whether s takes part in the figures of its device.
func (s spec) deviceSide() bool { return s.isOp && s.side == op.SideNone }

// deviceKey returns the device of s where all specs are of one service.
func (s spec) deviceKey() DeviceKey {
	k := deviceOf(s.entry())
	k.Service = ""
	return k
}

// addTo adds specs to a forest, and returns that.
func addTo[F interface{ Add(op.Record) }](forest F, specs ...spec) F {
	for _, s := range specs {
		forest.Add(s.record())
	}
	return forest
}

// horizon bounds the times of random specs, so that references can look at
// every single nanosecond.
const horizon = 120

// randomSpecs makes n operations and spans with everything that can be wrong
// with a structure: ids seen twice, parents that are missing, later, their own
// child or in another trace, children that outlive their parents, no ids, no
// start, no duration.
func randomSpecs(r *rand.Rand, n int) []spec {
	specs := make([]spec, n)
	for i := range specs {
		specs[i] = randomSpec(r, n)
	}
	return specs
}

func randomSpec(r *rand.Rand, n int) spec {
	s := spec{
		isOp: r.IntN(3) > 0, name: pick(r, "matmul", "relu", "add;x", "send", "a", "a b"), service: pick(r, "", "api"),
		trace: byte(r.IntN(3)), id: uint64(r.IntN(n + 1)), parent: uint64(r.IntN(n + 2)),
		start: r.Int64N(horizon), timeless: r.IntN(12) == 0, remote: r.IntN(8) == 0,
	}
	s.end = s.start + r.Int64N(horizon-s.start)
	if r.IntN(3) == 0 {
		s.parent = 0
	}
	for r.IntN(6) == 0 {
		l := specLink{trace: byte(1 + r.IntN(2)), id: uint64(1 + r.IntN(n+1))}
		if r.IntN(2) == 0 {
			l.weight = op.Known(r.Int64N(4))
		}
		s.links = append(s.links, l)
	}
	if !s.isOp {
		return s
	}
	s.kind = pick(r, op.KindCompute, op.KindCompute, op.KindCollective, op.KindMemory, op.KindIO)
	s.device = pick(r, "", "cuda:0", "cuda:1")
	s.memory = r.Int64N(100)
	if r.IntN(2) == 0 {
		s.rank = op.Known(r.Int64N(2))
	}
	if r.IntN(6) == 0 {
		s.side = op.SideHost
	}
	if r.IntN(2) == 0 {
		s.step = op.Known(r.Int64N(3))
	}
	if r.IntN(4) == 0 {
		s.launch = op.Known(r.Int64N(horizon))
	}
	if r.IntN(3) == 0 {
		s.root, s.rootID = pick(r, "GET /a", "GET /b"), uint64(r.IntN(n+2))
	}
	return s
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func idOf(number uint64) (id op.SpanID) {
	binary.BigEndian.PutUint64(id[:], number)
	return id
}

// recordsOf returns the records of specs, with shapes and attributes for the ops.
func recordsOf(r *rand.Rand, specs []spec) []op.Record {
	var records []op.Record
	for i, s := range specs {
		if !s.isOp {
			records = append(records, op.Record{Span: s.span()})
			continue
		}
		e, more := s.entry(), random.Entry(r, i)
		e.OutputShape, e.InputShapes, e.DType, e.InputDTypes = more.OutputShape, more.InputShapes, more.DType, more.InputDTypes
		e.FLOPs, e.OutputElements, e.Attrs, e.Failed = more.FLOPs, more.OutputElements, more.Attrs, more.Failed
		records = append(records, op.Record{Entry: e})
	}
	return records
}

// names returns the names of nodes.
func names[N interface{ Name() string }](nodes iter.Seq[N]) []string {
	var list []string
	for n := range nodes {
		list = append(list, n.Name())
	}
	return list
}

// keys returns the keys that s lists.
func keys(s string) []Key {
	list, err := ParseKeys(s)
	if err != nil {
		panic(err)
	}
	return list
}

// testPeaks are those of devices called cuda:0 and cuda:1.
func testPeaks() *peaks.Table {
	return &peaks.Table{Devices: []peaks.Device{
		{Match: "cuda:0", BytesPerSecond: 1e9, FLOPsPerSecond: map[op.DType]float64{op.F32: 1e9, op.F16: 1e10}},
		{Match: "cuda:1", BytesPerSecond: 3e9, FLOPsPerSecond: map[op.DType]float64{op.F32: 7e7}},
	}}
}

// requestOps is how many operations a request of addRequests holds.
const requestOps = 100

// addRequests adds at least n operations in requests: a span with layers of
// nested operations on two devices.
func addRequests(forest interface{ Add(op.Record) }, n int) {
	names := [...]string{"matmul", "relu", "softmax", "all_reduce", "Memcpy HtoD"}
	kinds := [...]op.Kind{op.KindCompute, op.KindCompute, op.KindCompute, op.KindCollective, op.KindMemory}
	devices := [...]string{"cuda:0", "cuda:1"}
	e := op.Entry{MemoryBytes: op.Known(4096)}
	s := op.Span{Name: "POST /predict", Service: "inference"}
	at := int64(1_700_000_000_000_000_000)
	id := uint64(1)
	for request := 0; request*requestOps < n; request++ {
		binary.BigEndian.PutUint64(e.TraceID[:], uint64(request+1))
		root := spanID(id * 0x9e3779b97f4a7c15) // spread over all values, as ids are
		s.TraceID, s.SpanID, s.Start = e.TraceID, root, op.Known(at)
		e.Step = op.Known(int64(request))
		parent := root
		for i := range requestOps {
			id++
			e.Operation, e.Kind, e.DeviceID = names[i%5], kinds[i%5], devices[i/10%2]
			e.SpanID = spanID(id * 0x9e3779b97f4a7c15)
			e.ParentSpanID = parent
			e.Start, e.Duration = op.Known(at+int64(i)*1000), 900
			if i%5 == 0 { // an operation with four children
				e.Duration = 4900
				parent = e.SpanID
			} else if i%5 == 4 {
				parent = root
			}
			forest.Add(op.Record{Entry: &e})
		}
		s.Duration = requestOps * 1000
		forest.Add(op.Record{Span: &s})
		at += 120_000
		id++
	}
}
