package perfetto

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/protobuf"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// stage is an operation of a device, a GpuRenderStageEvent. It is held until the end of the trace, because calls of the
// host state which operations they launched.
type stage struct {
	id, api, pid            uint64 // of its context
	start, dur, gpu, stream int64
	kind, name              string
	args                    []byte // members of a JSON object
	hasLaunch, isPlain      bool   // a correlation number; no kernel
	shared                  int64  // memory, bytes
}

// gpu is the part of a source with the operations and the counters of devices.
type gpu struct {
	stages    []stage
	submitted map[uint64]int64  // correlation numbers of launches, by operation
	counters  map[uint64]power  // of the whole trace
	last      map[int64]float64 // the last power of counters that look forward, by device
	isCUDA    bool              // calls of CUDA were seen
}

// Made-up correlation numbers of calls without their own lie above those of CUDA.
const madeUp = 1 << 40

// stageKinds are the categories of PyTorch's profiler for parts of the names of stages, except for kernels.
var stageKinds = []struct{ part, kind string }{
	{"memset", "gpu_memset"}, {"fill", "gpu_memset"}, {"copy", "gpu_memcpy"}, {"memcpy", "gpu_memcpy"},
	{"annotation", "gpu_user_annotation"}, {"eventrecord", "graph_event_node"}, {"hostnode", "graph_host_node"},
}

// argumentNames are the names of arguments in PyTorch's profiler.
var argumentNames = map[string]string{
	"device id": "device", "context id": "context", "stream id": "stream", "registers_per_thread": "registers per thread",
}

// streamNumber is the number of a stream in the name of a queue, such as "[07] stream 7".
var streamNumber = regexp.MustCompile(`\d{1,9}$`)

// renderStage takes an operation of a device.
func (s *source) renderStage(p *packet, seq *sequence, at int64, timed bool) bool {
	switch {
	case p.needsState && !seq.valid:
		return s.fail("an operation that refers to packets that are missing")
	case !p.hasTimestamp || !timed:
		return s.fail("an operation without a time, or of a clock in no snapshot")
	}
	m := single(p.stage, &s.bad)
	interned := func(table int, id uint64) *values {
		found := single(seq.messages[table][id], &s.bad)
		return &found
	}
	kernel := interned(internedKernels, m[stageKernelIID].n)
	context := interned(internedContexts, m[stageContext].n)
	queue := cmp.Or(m[stageQueueIID].n, m[stageQueueID].n)
	step := cmp.Or(m[stageStageIID].n, m[stageStageID].n)
	stepName := interned(internedSpecs, step).text(specName)
	g := stage{
		id: m[stageEventID].n, start: at, dur: max(0, int64(m[stageDuration].n)), gpu: int64(int32(m[stageGPU].n)),
		stream: int64(queue), api: context[contextAPI].n, pid: context[contextPID].n, kind: "kernel",
		isPlain: !m[stageKernelIID].set && !m[stageLaunch].set,
	}
	if n := streamNumber.FindString(interned(internedSpecs, queue).text(specName)); n != "" {
		g.stream, _ = strconv.ParseInt(n, 10, 64)
	}
	g.name = cmp.Or(kernel.text(kernelDemangled), kernel.text(kernelName), m.text(stageOwnName),
		seq.names[m[stageNameIID].n], stepName, "stage "+strconv.FormatUint(step, 10))
	for _, k := range stageKinds {
		if g.isPlain && strings.Contains(strings.ToLower(stepName), k.part) {
			g.kind = k.kind
		}
	}
	g.args = strconv.AppendUint(append(g.args, `"`+kineto.EventID+`":`...), g.id, 10)
	var waits []byte
	f := fieldsOf(p.stage, &s.bad)
	for f.next() {
		switch f.Field {
		case stageExtra:
			extra := single(f.data, &s.bad)
			s.argument(&g, extra.text(extraName), extra[extraValue].data)
		case stageLaunch:
			s.launch(&g, f.data, seq)
		case stageWaits:
			for id := range repeated(&f) {
				waits = strconv.AppendUint(comma(waits), id, 10)
			}
		}
	}
	f = fieldsOf(seq.messages[internedKernels][m[stageKernelIID].n], &s.bad)
	for f.next() {
		if f.Field == kernelArgs {
			s.computeArgument(&g, f.data, seq)
		}
	}
	g.args = append(append(append(g.args, `,"`+kineto.EventWaits+`":[`...), waits...), ']')
	s.argument(&g, "device", strconv.AppendInt(nil, g.gpu, 10))
	s.argument(&g, "stream", strconv.AppendInt(nil, g.stream, 10))
	if g.shared > 0 {
		s.argument(&g, "shared memory", strconv.AppendInt(nil, g.shared, 10))
	}
	if s.bad {
		return s.fail("an operation that is not well formed")
	}
	s.gpu.stages = append(s.gpu.stages, g)
	return s.keep(160 + int64(len(g.args)))
}

// argument adds an argument. A text of JSON, such as a number, is no text.
func (s *source) argument(g *stage, name string, value []byte) {
	n, isNumber := scalar.ParseInt(value)
	switch {
	case len(g.args) > MaxAnnotationBytes:
		return
	case strings.HasPrefix(name, "shared_mem_"):
		g.shared += n
		return
	case name == "stream id" && isNumber:
		g.stream = n
		return
	case name == "correlation":
		g.hasLaunch = n != 0
	case name == "host fn":
		g.name += ": " + string(value)
	}
	g.args = append(scalar.AppendString(comma(g.args), cmp.Or(argumentNames[name], name)), ':')
	if len(value) > 0 && isJSON(slices.Concat([]byte{'['}, value, []byte{']'})) { // and nests no deeper than an argument
		g.args = append(g.args, value...)
	} else {
		g.args = scalar.AppendString(g.args, string(value))
	}
}

// launch adds the grid, the block and other parameters of a launch.
func (s *source) launch(g *stage, b []byte, seq *sequence) {
	f := fieldsOf(b, &s.bad)
	for f.next() {
		if f.Field == launchArgs {
			s.computeArgument(g, f.data, seq)
			continue
		}
		d := single(f.data, &s.bad)
		dims := []byte{'['}
		for _, n := range d[1:4] {
			dims = strconv.AppendUint(comma(dims), n.n, 10)
		}
		s.argument(g, map[int]string{launchGrid: "grid", launchBlock: "block"}[f.Field], append(dims, ']'))
	}
}

// computeArgument adds a parameter of a kernel or a launch.
func (s *source) computeArgument(g *stage, b []byte, seq *sequence) {
	m := single(b, &s.bad)
	name := m.text(argName)
	if m[argNameIID].set {
		arg := single(seq.messages[internedArgNames][m[argNameIID].n], &s.bad)
		name = arg.text(internedName)
	}
	var value []byte
	switch {
	case m[argInt].set:
		value = strconv.AppendInt(nil, int64(m[argInt].n), 10)
	case m[argUint].set:
		value = strconv.AppendUint(nil, m[argUint].n, 10)
	case m[argDouble].set:
		value = scalar.AppendDouble(nil, math.Float64frombits(m[argDouble].n))
	default:
		value = []byte(cmp.Or(m.text(argString), seq.texts[m[argStringIID].n]))
	}
	s.argument(g, name, value)
}

// repeated yields the numbers of a repeated field, packed or not.
func repeated(f *fields) func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		if f.data == nil {
			yield(f.n)
			return
		}
		packed := protobuf.Cursor{Buf: f.data}
		for packed.Pos < len(packed.Buf) {
			if n := packed.Varint(); packed.Err != nil || !yield(n) {
				return
			}
		}
	}
}

// launched takes the operations that a call launched. It adds a correlation number to the arguments of a call without.
func (s *source) launched(args []byte, operations []uint64) []byte {
	number := int64(0)
	var l lexer.Lexer
	l.Reset(append(append([]byte{'{'}, args...), '}'))
	for l.Object(); l.More(); {
		if string(l.Key()) == "correlation" {
			number, _ = scalar.ParseInt(l.AnyNumber())
		} else {
			l.Skip()
		}
	}
	if number == 0 {
		number = madeUp + int64(operations[0])
		args = strconv.AppendInt(append(comma(args), `"correlation":`...), number, 10)
	}
	if s.gpu.submitted == nil {
		s.gpu.submitted = make(map[uint64]int64)
	}
	for _, id := range operations {
		s.gpu.submitted[id] = number
	}
	return args
}

// operations yields the held operations of devices.
func (s *source) operations() bool {
	for i := range s.gpu.stages {
		g := &s.gpu.stages[i]
		if n := s.gpu.submitted[g.id]; n != 0 && !g.hasLaunch {
			g.args = strconv.AppendInt(append(g.args, `,"correlation":`...), n, 10)
		}
		kind := g.kind
		if isCUDA := g.api == apiCUDA || g.api == 0 && s.gpu.isCUDA; !isCUDA && kind == "kernel" {
			kind = "kernel_dispatch" // of a device called gpu
		} else if !isCUDA && strings.HasPrefix(kind, "gpu_mem") {
			kind = "memory_copy"
		}
		pid := strconv.FormatInt(g.gpu, 10)
		if kind == "graph_host_node" && g.pid != 0 {
			pid = strconv.Quote(processName(int64(g.pid)))
		}
		s.event = traceevent.Event{
			Phase: 'X', Category: []byte(kind), Name: []byte(g.name), PID: []byte(pid),
			TID: strconv.AppendInt(nil, g.stream, 10), Thread: op.Known(-1), Start: op.Known(g.start),
			Duration: op.Known(g.dur), Args: append(append([]byte{'{'}, g.args...), '}'),
		}
		if !s.yield(&s.event, nil) {
			return false
		}
	}
	return true
}

// power is a counter of the power of a device. A sample is watts times scale, of the time behind it if the counter looks
// forward, and else of the time before.
type power struct {
	scale   float64
	forward bool
	gpu     op.Int
}

// The names of counters of power without a unit, and of limits.
var (
	powerName = regexp.MustCompile(`^(?i:gpu )?Power \(W\)$`)
	notPower  = regexp.MustCompile(`(?i)limit|cap\b|peak`)
	wattUnits = map[uint64]float64{28: 1e-3, 29: 1, 30: 1e3} // MILLIWATT, WATT, KILOWATT
)

// powersOf returns the first counter of power of a descriptor, nil if there is none.
func powersOf(b []byte, gpu op.Int, bad *bool) map[uint64]power {
	f := fieldsOf(b, bad)
	for f.next() {
		if f.Field != descriptorSpecs {
			continue
		}
		m := single(f.data, bad)
		p := power{scale: wattUnits[m[counterUnits].n], forward: m[counterDirection].n == 2, gpu: gpu}
		if p.scale == 0 && powerName.Match(m[counterName].data) {
			p.scale = 1
		}
		if p.scale != 0 && !m[counterPer].set && !notPower.Match(m[counterName].data) {
			return map[uint64]power{m[counterID].n: p}
		}
	}
	return nil
}

// counter takes samples of counters. It hands on the power of devices, as Cuspy writes it in JSON.
func (s *source) counter(b []byte, seq *sequence, at int64, timed bool) bool {
	m := single(b, &s.bad)
	of := s.gpu.counters
	if m[counterDescriptor].set {
		of = powersOf(m[counterDescriptor].data, op.Int{}, &s.bad)
		s.gpu.counters = of
	} else if m[counterDescriptorIID].set {
		of = seq.counters[m[counterDescriptorIID].n]
	}
	f := fieldsOf(b, &s.bad)
	for f.next() {
		one := single(f.data, &s.bad)
		p, ok := of[one[counterID].n]
		if f.Field != counterSamples || !ok || !timed {
			continue
		}
		device := cmp.Or(p.gpu, op.Known(int64(int32(m[counterGPU].n)))).V
		watts := p.scale * float64(int64(one[sampleInt].n))
		if one[sampleDouble].set {
			watts = p.scale * math.Float64frombits(one[sampleDouble].n)
		}
		if p.forward {
			before, known := s.gpu.last[device]
			if s.gpu.last == nil {
				s.gpu.last = make(map[int64]float64)
			}
			s.gpu.last[device] = watts
			if watts = before; !known {
				continue
			}
		}
		s.event = traceevent.Event{Phase: 'C', Name: []byte("Power (W)"), Start: op.Known(at),
			PID:  []byte(strconv.Quote("GPU " + strconv.FormatInt(device, 10) + " Counters")),
			Args: append(scalar.AppendDouble([]byte(`{"":`), watts), '}')}
		return s.yield(&s.event, nil)
	}
	if s.bad {
		return s.fail("a counter that is not well formed")
	}
	return s.count('C')
}
