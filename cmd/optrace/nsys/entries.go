package nsys

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/cmd/optrace/internal/sqlite"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/read/profiler"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

type kernelName struct {
	name string
	kind op.Kind
	rule op.KindRule
}

func (r *reader) identify() {
	for i := range r.ranges {
		o := &r.ranges[i]
		r.addToSession(o.Start, o.End, int64(o.Thread)<<32|int64(o.Name))
	}
	for i := range r.launches {
		r.addToSession(r.launches[i].start, r.launches[i].correlation, 0)
	}
	r.addToSession(r.base, 0, 0)
	r.trace = opfile.LocalTraceID(uint64(r.session))
}

func (t *tables) addToSession(numbers ...int64) {
	for _, n := range numbers {
		t.session.Add(uint64(n), 0)
	}
}

func (r *reader) begin(name string, n, parent int, start, end int64) {
	b := r.build
	b.Reset()
	b.Str(attrkey.Name, name)
	b.SetIDs(r.trace, profiler.SpanID(n), profiler.SpanID(parent))
	b.SetTime(opfile.UnixTime(r.base, start), end-start)
}

func (r *reader) finish(process int64) *op.Entry {
	e, _ := r.build.Entry() // an operation, for it has a name
	r.eras.Check(e)
	if rank, ok := r.ranks[process]; ok {
		e.Rank = op.Known(rank)
	}
	e.Service = validText(r.processes[process])
	return e
}

func (r *reader) host(i int) *op.Entry {
	o := &r.ranges[i]
	th := &r.threads[o.Thread]
	r.begin(r.symbols.Text(o.Name), i, int(o.Parent), o.Start, o.End)
	r.build.Str(attrkey.Device, "cpu")
	r.build.Str(attrkey.Side, op.SideHost.String())
	if o.shapes != 0 {
		r.build.Str(attrkey.InputShapes, r.symbols.Text(o.shapes))
	}
	e := r.finish(th.process)
	e.Path = r.around.Path(r.around.Outside(int32(i), o.Start), o.Start)
	e.Phase = r.around.Phase(int32(i), o.Start)
	r.setStep(e, th.process, o.Start)
	e.Attrs = th.attrs
	return e
}

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

func (r *reader) device(table string, v []sqlite.Value) (*op.Entry, error) {
	start, end, err := times(v)
	if err != nil {
		return nil, err
	}
	process := r.process(v[5])
	own := v[len(common):]
	kernel := kernelName{kind: op.KindMemory, rule: op.RuleAttribute}
	switch table {
	case kernelTable:
		kernel = r.kernel(own[0], own[1])
	case copyTable:
		kernel.name = "Memcpy " + numbered(copyKinds, own[1].Int, "kind")
		const unknown = 7 // of both sides of a migration
		from, to := own[2], own[3]
		if from.Kind != sqlite.Null && to.Kind != sqlite.Null && (from.Int != unknown || to.Int != unknown) {
			kernel.name += fmt.Sprintf(" (%s -> %s)", memoryName(from), memoryName(to))
		}
	case setTable:
		kernel.name = "Memset"
		if own[1].Kind != sqlite.Null {
			kernel.name += " (" + memoryName(own[1]) + ")"
		}
	case graphTable:
		kernel = kernelName{fmt.Sprintf("CUDA graph %d", own[0].Int), op.KindCompute, op.RuleDefault}
	}
	r.begin(kernel.name, len(r.ranges)+r.count, -1, start, end)
	r.count++
	if n, ok := v[2].Number(); ok && n >= 0 {
		r.build.Str(attrkey.Device, "cuda:"+strconv.FormatInt(n, 10))
	}
	if n, ok := v[3].Number(); ok && n >= 0 {
		r.build.Int(attrkey.Stream, n)
	}
	if n, ok := own[0].Number(); ok && n >= 0 && (table == copyTable || table == setTable) {
		r.build.Int(attrkey.Memory, n)
	}
	e := r.finish(process)
	e.Kind = kernel.kind
	e.KindRule = kernel.rule
	if table == kernelTable {
		e.Attrs = geometry(own[2:11])
	}
	r.addGraph(e, process, own[len(own)-2:])
	var launch op.Int
	if correlation, ok := v[4].Number(); ok {
		if call := r.launchOf(process, correlation); call != nil {
			r.launched(e, call)
			launch = op.Known(call.start)
			call.matched = true
			call.worked = max(call.worked, end)
		}
	}
	if !profiler.HasTime(start, end-start, launch) {
		e.Start = op.Int{}
		e.Warn |= op.WarnBadTime
	}
	return e, nil
}

func (r *reader) addGraph(e *op.Entry, process int64, ids []sqlite.Value) {
	for i, key := range [...]string{attrkey.Graph, attrkey.GraphNode} {
		if n := ids[i].Int; n != 0 {
			addInt(e, key, n)
		}
	}
	if name := r.nodeName(process, ids[1].Int); name != "" {
		e.Attrs = append(slices.Clip(e.Attrs), op.Attr{Key: attrkey.GraphNodeName, Value: name})
	}
}

func addInt(e *op.Entry, key string, n int64) {
	e.Attrs = append(slices.Clip(e.Attrs), op.Attr{Key: key, Value: strconv.FormatInt(n, 10), Type: op.AttrInt})
}

func (r *reader) launched(e *op.Entry, call *launch) {
	e.Launch = opfile.UnixTime(r.base, call.start)
	if call.dur > 0 {
		addInt(e, attrkey.LaunchDuration, call.dur)
	}
	attrs := slices.Clip(e.Attrs)
	if name := r.call(call.name); name != "" {
		attrs = append(attrs, op.Attr{Key: attrkey.LaunchCall, Value: name})
	}
	e.Attrs = append(attrs, r.threads[call.thread].id...)
	r.setStep(e, r.threads[call.thread].process, call.start)
	if call.at >= 0 {
		e.LaunchedBy, e.LaunchSpanID = r.symbols.Text(r.ranges[call.at].Name), profiler.SpanID(int(call.at))
		e.Path = r.around.Path(call.at, call.start)
		e.Phase = r.around.Phase(call.at, call.start)
	}
}

// outside returns the entry of a named call outside ranges, or of a wait, nil for any other call.
func (r *reader) outside(call *launch) *op.Entry {
	name := r.call(call.name)
	if name == "" || call.at >= 0 && !attrkey.IsWait(name) && !attrkey.IsStreamWait(name) && !attrkey.IsAllocation(name) {
		return nil
	}
	th := &r.threads[call.thread]
	e := &op.Entry{
		Operation: name, Side: op.SideHost, Start: r.eras.Tame(opfile.UnixTime(r.base, call.start)), Duration: call.dur, Attrs: th.id,
	}
	if call.at >= 0 {
		e.TraceID, e.ParentSpanID = r.trace, profiler.SpanID(int(call.at))
	}
	if rank, ok := r.ranks[th.process]; ok {
		e.Rank = op.Known(rank)
	}
	w, ok := r.waits[callKey{th.process, call.correlation}]
	if !ok {
		return e
	}
	e.Stream = w.stream
	if w.device.Known {
		e.DeviceID = "cuda:" + w.device.String()
	}
	e.Attrs = slices.Clip(e.Attrs)
	if rec := r.recordingOf(w.event, call.start); rec != nil {
		profiler.SetEvent(e, rec.stream, opfile.UnixTime(r.base, rec.start))
	}
	return e
}

func (r *reader) setStep(e *op.Entry, process, at int64) {
	if s := r.steps.At(process, at); s != nil {
		s.Used = true
		e.Step = s.Number
		e.StepName = r.symbols.Text(s.Name)
	}
}

// kernel returns the name of a kernel: the demangled or else the short one.
func (r *reader) kernel(demangled, short sqlite.Value) kernelName {
	n, ok := demangled.Number()
	if !ok {
		n, ok = short.Number()
	}
	if !ok {
		return kernelName{"kernel", op.KindCompute, op.RuleDefault}
	}
	k, known := r.kernels[n]
	if !known {
		k.name = validText(r.text(n))
		k.kind, k.rule = op.InferDeviceKind(k.name)
		r.kernels[n] = k
		r.more(textBytes)
	}
	return k
}

// call returns the name of a runtime call, "" if unknown, without the interface version: cudaLaunchKernel for
// cudaLaunchKernel_v7000.
func (r *reader) call(text int64) string {
	name := validText(r.texts[text])
	if i := strings.LastIndex(name, "_v"); i >= 0 && strings.Trim(name[i+2:], "0123456789") == "" {
		return name[:i]
	}
	return name
}

// geometry returns the launch attributes of a kernel under the names of PyTorch's profiler, nil if a column of grid or
// block is missing.
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

// rangeName parses the name of a range. PyTorch's emit_nvtx adds numbers and shapes to the names of operators; other
// names are plain.
//
//	aten::mm, seq = 7, op_id = 3, sizes = [[2, 3], [3, 4]]   aten::mm  [[2, 3], [3, 4]]
//	layer 3                                                  layer 3
func rangeName(text []byte) (name, shapes []byte, plain bool) {
	name, rest, _ := bytes.Cut(text, []byte(", "))
	key, _, ok := bytes.Cut(rest, []byte(" = "))
	switch string(key) {
	case "seq", "op_id", "sizes", "input_op_ids":
	default:
		ok = false
	}
	if !ok {
		return text, nil, true
	}
	if _, after, ok := bytes.Cut(rest, []byte("sizes = ")); ok {
		shapes, _, _ = bytes.Cut(after, []byte(", input_op_ids"))
	}
	return name, shapes, false
}

func validText(text string) string { return scalar.ValidUTF8(text) }

// The names of PyTorch's profiler for CUPTI's numbers.
var (
	copyKinds = []string{
		1: "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP", "Unified HtoD",
		"Unified DtoH", "Unified DtoD",
	}
	memoryKinds = []string{"Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown"}
)

func memoryName(kind sqlite.Value) string { return numbered(memoryKinds, kind.Int, "memory") }

func numbered(names []string, n int64, what string) string {
	if 0 <= n && n < int64(len(names)) && names[n] != "" {
		return names[n]
	}
	return fmt.Sprintf("%s %d", what, n)
}
