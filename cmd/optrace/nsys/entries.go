package nsys

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/cmd/optrace/internal/sqlite"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/marks"
	"github.com/optrace/optrace/internal/opfile"
	"github.com/optrace/optrace/op"
)

type maker struct {
	*tables
	build   *attrmap.Builder
	trace   op.TraceID
	count   int // entries of devices so far
	paths   map[int32]string
	kernels map[int64]kernelName
	growing func(bytes int)
}

// kernelName is the name of a kernel and what it says.
type kernelName struct {
	name string
	kind op.Kind
	rule op.KindRule
}

func (r *reader) newMaker() *maker {
	t := &r.tables
	for i := range t.ranges {
		o := &t.ranges[i]
		t.addToSession(o.start, o.end, int64(o.thread)<<32|int64(o.name))
	}
	for i := range t.launches {
		t.addToSession(t.launches[i].start, t.launches[i].correlation, 0)
	}
	t.addToSession(t.base, 0, 0)
	return &maker{
		tables: t, build: attrmap.NewBuilder(nil), trace: opfile.LocalTraceID(uint64(t.session)),
		paths: make(map[int32]string), kernels: make(map[int64]kernelName), growing: r.more,
	}
}

// addToSession adds numbers to what tells the recording from others.
func (t *tables) addToSession(numbers ...int64) {
	for _, n := range numbers {
		t.session.Add(uint64(n), 0)
	}
}

// id returns the n-th span id, from 0; none for -1.
func id(n int) (id op.SpanID) {
	binary.BigEndian.PutUint64(id[:], uint64(n+1))
	return id
}

func (m *maker) begin(name string, n, parent int, start, end int64) {
	b := m.build
	b.Reset()
	b.Str(attrkey.Name, name)
	b.SetIDs(m.trace, id(n), id(parent))
	b.SetTime(opfile.UnixTime(m.base, start), end-start)
}

func (m *maker) finish(process int64) *op.Entry {
	e, _ := m.build.Entry() // an operation, for it has a name
	if rank, ok := m.ranks[process]; ok {
		e.Rank = op.Known(rank)
	}
	e.Service = validText(m.processes[process])
	return e
}

func (m *maker) host(i int) *op.Entry {
	r := &m.ranges[i]
	th := &m.threads[r.thread]
	m.begin(m.symbols.Text(r.name), i, int(r.parent), r.start, r.end)
	m.build.Str(attrkey.Device, "cpu")
	m.build.Str(attrkey.Side, op.SideHost.String())
	if r.shapes != 0 {
		m.build.Str(attrkey.InputShapes, m.symbols.Text(r.shapes))
	}
	e := m.finish(th.process)
	e.Path, e.Phase = m.path(r.parent), m.phase(int32(i))
	m.setStep(e, th.process, r.start)
	e.Attrs = th.attrs
	return e
}

// The columns of the tables of devices begin with common.
var (
	common        = []string{"start", "end", "deviceId", "streamId", "correlationId", "globalPid"}
	deviceColumns = map[string][]string{
		kernelTable: {
			"demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread",
			"staticSharedMemory", "dynamicSharedMemory", "graphId", "graphNodeId",
		},
		copyTable:  {"bytes", "copyKind", "srcKind", "dstKind", "graphId", "graphNodeId"},
		setTable:   {"bytes", "memKind", "graphId", "graphNodeId"},
		graphTable: {"graphId", "graphNodeId"},
	}
)

func (m *maker) device(table string, v []sqlite.Value) (*op.Entry, error) {
	start, end, err := times(v)
	if err != nil {
		return nil, err
	}
	process := m.process(v[5])
	own := v[len(common):]
	kernel := kernelName{kind: op.KindMemory, rule: op.RuleAttribute}
	switch table {
	case kernelTable:
		kernel = m.kernel(own[0], own[1])
	case copyTable:
		kernel.name = copyName(own[1], own[2], own[3])
	case setTable:
		kernel.name = setName(own[1])
	case graphTable:
		kernel = kernelName{fmt.Sprintf("CUDA graph %d", own[0].Int), op.KindCompute, op.RuleDefault}
	}
	m.begin(kernel.name, len(m.ranges)+m.count, -1, start, end)
	m.count++
	if n, ok := v[2].Number(); ok && n >= 0 {
		m.build.Str(attrkey.Device, "cuda:"+strconv.FormatInt(n, 10))
	}
	if n, ok := v[3].Number(); ok && n >= 0 {
		m.build.Int(attrkey.Stream, n)
	}
	if n, ok := own[0].Number(); ok && n >= 0 && (table == copyTable || table == setTable) {
		m.build.Int(attrkey.Memory, n)
	}
	e := m.finish(process)
	e.Kind, e.KindRule = kernel.kind, kernel.rule
	if table == kernelTable {
		e.Attrs = geometry(own[2:11])
	}
	m.addGraph(e, process, own[len(own)-2:])
	if correlation, ok := v[4].Number(); ok {
		m.launched(e, m.launchOf(process, correlation))
	}
	return e, nil
}

// addGraph says of an entry of a process which node of which CUDA graph it is.
func (m *maker) addGraph(e *op.Entry, process int64, ids []sqlite.Value) {
	for i, key := range [...]string{attrkey.Graph, attrkey.GraphNode} {
		if n := ids[i].Int; n != 0 {
			addInt(e, key, n)
		}
	}
	if name := m.nodeName(process, ids[1].Int); name != "" {
		e.Attrs = append(slices.Clip(e.Attrs), op.Attr{Key: attrkey.GraphNodeName, Value: name})
	}
}

func addInt(e *op.Entry, key string, n int64) {
	e.Attrs = append(slices.Clip(e.Attrs), op.Attr{Key: key, Value: strconv.FormatInt(n, 10), Type: op.AttrInt})
}

func (m *maker) launched(e *op.Entry, call *launch) {
	if call == nil {
		return
	}
	e.Launch = opfile.UnixTime(m.base, call.start)
	if call.dur > 0 {
		addInt(e, attrkey.LaunchDuration, call.dur)
	}
	if name := m.call(call.name); name != "" {
		e.Attrs = append(slices.Clip(e.Attrs), op.Attr{Key: attrkey.LaunchCall, Value: name})
	}
	m.setStep(e, m.threads[call.thread].process, call.start)
	if call.at >= 0 {
		e.LaunchedBy, e.LaunchSpanID = m.symbols.Text(m.ranges[call.at].name), id(int(call.at))
		e.Path, e.Phase = m.path(call.at), m.phase(call.at)
	}
}

// outside returns a call that lies in no range, nil for one that does, or has no name.
func (m *maker) outside(call *launch) *op.Entry {
	name := m.call(call.name)
	if call.at >= 0 || name == "" {
		return nil
	}
	e := &op.Entry{Operation: name, Side: op.SideHost, Start: opfile.UnixTime(m.base, call.start), Duration: call.dur}
	if rank, ok := m.ranks[m.threads[call.thread].process]; ok {
		e.Rank = op.Known(rank)
	}
	return e
}

func (m *maker) setStep(e *op.Entry, process, at int64) {
	if s := m.steps.At(process, at); s != nil {
		e.Step, e.StepName = s.Number, m.symbols.Text(s.Name)
	}
}

// kernel returns the name of a kernel: the demangled one, or else the short one.
func (m *maker) kernel(demangled, short sqlite.Value) kernelName {
	n, ok := demangled.Number()
	if !ok {
		n, ok = short.Number()
	}
	if !ok {
		return kernelName{"kernel", op.KindCompute, op.RuleDefault}
	}
	k, known := m.kernels[n]
	if !known {
		k.name = validText(m.text(n))
		k.kind, k.rule = op.InferDeviceKind(k.name)
		m.kernels[n] = k
		m.growing(textBytes)
	}
	return k
}

// call returns the name of a call of the runtime by its text, "" for none.
func (m *maker) call(text int64) string { return callName(validText(m.texts[text])) }

// geometry returns the attributes of the launch of a kernel, by the names that PyTorch's profiler
// writes; none where a version lacks one of the columns of the grid and the blocks.
func geometry(v []sqlite.Value) []op.Attr {
	for _, size := range v[:6] {
		if _, ok := size.Number(); !ok {
			return nil
		}
	}
	return []op.Attr{
		{Key: attrkey.Grid, Value: fmt.Sprintf("[%d,%d,%d]", v[0].Int, v[1].Int, v[2].Int), Type: op.AttrJSON},
		{Key: attrkey.Block, Value: fmt.Sprintf("[%d,%d,%d]", v[3].Int, v[4].Int, v[5].Int), Type: op.AttrJSON},
		{Key: attrkey.Registers, Value: strconv.FormatInt(v[6].Int, 10), Type: op.AttrInt},
		{Key: attrkey.SharedMemory, Value: strconv.FormatInt(v[7].Int+v[8].Int, 10), Type: op.AttrInt},
	}
}

// path returns the names of the plain ranges at and around a range that are no steps, the outermost first.
func (m *maker) path(i int32) string {
	plain := func(i int32) int32 {
		for n := 0; i >= 0 && n < marks.MaxDepth; n, i = n+1, m.ranges[i].parent {
			if m.ranges[i].plain && !m.mark(i).IsStep() {
				return i
			}
		}
		return -1
	}
	if i = plain(i); i < 0 {
		return ""
	}
	path, ok := m.paths[i]
	if !ok {
		var names []string
		for at := i; at >= 0 && len(names) < marks.MaxPath; at = plain(m.ranges[at].parent) {
			names = append(names, m.symbols.Text(m.ranges[at].name))
		}
		slices.Reverse(names)
		path = strings.Join(names, op.PathSeparator)
		m.paths[i] = path
		m.growing(textBytes + len(path))
	}
	return path
}

// phase returns the phase that the innermost of a range and those around it tells by its name, "" for none.
func (m *maker) phase(i int32) string {
	for n := 0; i >= 0 && n < marks.MaxDepth; n, i = n+1, m.ranges[i].parent {
		if phase := m.mark(i).Phase; phase != "" {
			return phase
		}
	}
	return ""
}
