package perfetto

import (
	"bytes"
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
	"github.com/optrace/optrace/op"
)

// stage is an operation of a device, a GpuRenderStageEvent. It is held until the end of the trace, because calls of the
// host state which operations they launched.
type stage struct {
	id, api             uint64
	start, dur          int64
	gpu, stream         int64
	process             int64 // that of its context, 0 if unknown
	kind, name          string
	args                []byte // members of a JSON object
	hasLaunch, isKernel bool
}

func (g *stage) bytes() int64 { return stageBytes + int64(len(g.args)) }

const stageBytes = 160

// hostWait is a call that waited for operations of a device.
type hostWait struct {
	correlation uint64
	process     string
	events      []uint64
}

// gpu is the part of a source with the operations and the counters of devices.
type gpu struct {
	stages    []stage
	submitted map[uint64]uint64 // correlation numbers of launches, by operation
	waits     []hostWait
	counters  map[uint64]power  // of the whole trace
	last      map[int64]float64 // the last power of counters that look forward, by device
	isCUDA    bool              // calls of CUDA were seen
}

// Made-up correlation numbers of calls without their own lie above those of CUDA.
const madeUp = 1 << 40

// Kinds of stages, by parts of their names, as the categories of events of PyTorch's profiler.
var stageKinds = []struct{ part, kind string }{
	{"memset", "gpu_memset"}, {"fill", "gpu_memset"}, {"memcpy", "gpu_memcpy"}, {"copy", "gpu_memcpy"},
	{"annotation", "gpu_user_annotation"}, {"eventrecord", "graph_event_node"}, {hostNode, "graph_host_node"},
}

const (
	kernelKind = "kernel"
	hostNode   = "hostnode"
)

// argumentNames are the names of arguments in PyTorch's profiler.
var argumentNames = map[string]string{
	"device id": "device", "context id": "context", "stream id": "stream", "registers_per_thread": "registers per thread",
}

// streamNumber is the number of a stream in the name of a queue, such as "[07] stream 7".
var streamNumber = regexp.MustCompile(`(\d{1,9})$`)

// renderStage takes an operation of a device.
func (s *source) renderStage(p *packet, seq *sequence, at int64, timed bool) bool {
	switch {
	case p.needsState && !seq.valid:
		return s.fail("an operation that refers to packets that are missing")
	case !p.hasTimestamp || !timed:
		return s.fail("an operation without a time, or of a clock in no snapshot")
	}
	g := stage{start: at, kind: kernelKind}
	var queue, stageID, context, kernel uint64
	var queueName, stageName, name string
	var extra, waits []byte
	shared := int64(0)
	f := fieldsOf(p.stage, &s.bad)
	for f.next() {
		switch f.Field {
		case stageEventID:
			g.id = f.n
		case stageDuration:
			g.dur = max(0, int64(f.n))
		case stageQueueID, stageQueueIID:
			queue = f.n
			queueName = seq.text(internedSpecs, f.n, specName, &s.bad)
		case stageStageID, stageStageIID:
			stageID = f.n
			stageName = seq.text(internedSpecs, f.n, specName, &s.bad)
		case stageContext:
			context = f.n
		case stageGPU:
			g.gpu = int64(int32(f.n))
		case stageOwnName:
			name = string(f.data)
		case stageNameIID:
			name = seq.names[f.n]
		case stageKernelIID:
			kernel = f.n
		case stageExtra:
			extra = s.extra(extra, f.data)
		case stageLaunch:
			extra = s.launch(extra, f.data, seq, &shared)
			g.isKernel = true
		case stageWaits:
			for id := range repeated(&f) {
				waits = strconv.AppendUint(comma(waits), id, 10)
			}
		}
	}
	if kernel != 0 {
		g.isKernel = true
		k := fieldsOf(seq.messages[internedKernels][kernel], &s.bad)
		long := ""
		for k.next() {
			switch k.Field {
			case kernelName:
				name = cmp.Or(string(k.data), name)
			case kernelDemangled:
				long = string(k.data)
			case kernelArgs:
				extra = s.argument(extra, k.data, seq, &shared)
			}
		}
		name = cmp.Or(long, name)
	}
	c := fieldsOf(seq.messages[internedContexts][context], &s.bad)
	for c.next() {
		switch c.Field {
		case contextPID:
			g.process = int64(c.n)
		case contextAPI:
			g.api = c.n
		}
	}
	if s.bad {
		return s.fail("an operation that is not well formed")
	}
	low := strings.ToLower(stageName)
	for _, k := range stageKinds {
		if !g.isKernel && g.kind == kernelKind && strings.Contains(low, k.part) {
			g.kind = k.kind
		}
	}
	g.name = cmp.Or(name, stageName, "stage "+strconv.FormatUint(stageID, 10))
	g.stream = int64(queue)
	if n := streamNumber.FindString(queueName); n != "" {
		g.stream, _ = strconv.ParseInt(n, 10, 64)
	}
	g.finish(extra, waits, shared)
	s.gpu.stages = append(s.gpu.stages, g)
	return s.keep(g.bytes())
}

// finish sets the arguments. Later members with a key count.
func (g *stage) finish(extra, waits []byte, shared int64) {
	g.args = strconv.AppendInt(append(g.args, `"device":`...), g.gpu, 10)
	g.args = strconv.AppendInt(append(g.args, `,"stream":`...), g.stream, 10)
	g.args = strconv.AppendUint(append(g.args, `,"`+kineto.EventID+`":`...), g.id, 10)
	if len(waits) > 0 {
		g.args = append(append(append(g.args, `,"`+kineto.EventWaits+`":[`...), waits...), ']')
	}
	if shared > 0 {
		g.args = strconv.AppendInt(append(g.args, `,"shared memory":`...), shared, 10)
	}
	if len(extra) == 0 {
		return
	}
	g.args = append(append(g.args, ','), extra...)
	var l lexer.Lexer
	l.Reset(slices.Concat([]byte{'{'}, extra, []byte{'}'}))
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "stream":
			g.stream, _ = lexer.ParseInt(l.AnyNumber())
		case "correlation":
			l.Skip()
			g.hasLaunch = true
		case "host fn":
			g.name += ": " + string(l.AnyStr())
		default:
			l.Skip()
		}
	}
}

// extra appends a pair of texts. A text of JSON, such as a number, is no text.
func (s *source) extra(dst, b []byte) []byte {
	var name string
	var value []byte
	f := fieldsOf(b, &s.bad)
	for f.next() {
		switch f.Field {
		case extraName:
			name = string(f.data)
		case extraValue:
			value = f.data
		}
	}
	dst = append(lexer.AppendString(comma(dst), cmp.Or(argumentNames[name], name)), ':')
	if isJSON(slices.Concat([]byte{'['}, value, []byte{']'})) && len(value) > 0 { // and nests no deeper than an argument
		return append(dst, value...)
	}
	return lexer.AppendString(dst, string(value))
}

// launch appends the grid, the block and other parameters of a launch.
func (s *source) launch(dst, b []byte, seq *sequence, shared *int64) []byte {
	f := fieldsOf(b, &s.bad)
	for f.next() {
		switch f.Field {
		case launchGrid, launchBlock:
			dims := [3]uint64{1, 1, 1}
			d := fieldsOf(f.data, &s.bad)
			for d.next() {
				if 1 <= d.Field && d.Field <= len(dims) {
					dims[d.Field-1] = d.n
				}
			}
			key := `"grid":[`
			if f.Field == launchBlock {
				key = `"block":[`
			}
			dst = append(comma(dst), key...)
			for i, n := range dims {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = strconv.AppendUint(dst, n, 10)
			}
			dst = append(dst, ']')
		case launchArgs:
			dst = s.argument(dst, f.data, seq, shared)
		}
	}
	return dst
}

// argument appends a parameter of a kernel or a launch, and adds to its shared memory.
func (s *source) argument(dst, b []byte, seq *sequence, shared *int64) []byte {
	if len(dst) > MaxAnnotationBytes {
		return dst
	}
	var name string
	var value []byte
	f := fieldsOf(b, &s.bad)
	for f.next() {
		switch f.Field {
		case argNameIID:
			name = seq.text(internedArgNames, f.n, internedName, &s.bad)
		case argName:
			name = string(f.data)
		case argInt:
			value = strconv.AppendInt(nil, int64(f.n), 10)
		case argUint:
			value = strconv.AppendUint(nil, f.n, 10)
		case argDouble:
			value = lexer.AppendDouble(nil, math.Float64frombits(f.n))
		case argString:
			value = lexer.AppendString(nil, string(f.data))
		case argStringIID:
			value = lexer.AppendString(nil, seq.texts[f.n])
		}
	}
	if strings.HasPrefix(name, "shared_mem_") {
		n, _ := lexer.ParseInt(value)
		*shared += n
		return dst
	}
	if name == "" || value == nil {
		return dst
	}
	dst = append(lexer.AppendString(comma(dst), cmp.Or(argumentNames[name], name)), ':')
	return append(dst, value...)
}

// repeated yields the numbers of a repeated field, packed or not.
func repeated(f *fields) func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		if f.data == nil {
			yield(f.n)
			return
		}
		packed := protobuf.Cursor{Buf: f.data}
		for packed.Pos < len(packed.Buf) && packed.Err == nil {
			if n := packed.Varint(); packed.Err == nil && !yield(n) {
				return
			}
		}
	}
}

// correlate takes the operations that a call launched or waited for. It returns the arguments of the call with a
// correlation number.
func (s *source) correlate(args []byte, b *beginning, process string) []byte {
	number := uint64(0)
	var l lexer.Lexer
	l.Reset(append(append([]byte{'{'}, args...), '}'))
	for l.Object(); l.More(); {
		if string(l.Key()) == "correlation" {
			n, _ := lexer.ParseInt(l.AnyNumber())
			number = uint64(max(0, n))
		} else {
			l.Skip()
		}
	}
	if number == 0 {
		number = madeUp + slices.Concat(b.submitted, b.awaited)[0]
		args = strconv.AppendUint(append(comma(args), `"correlation":`...), number, 10)
	}
	if s.gpu.submitted == nil {
		s.gpu.submitted = make(map[uint64]uint64)
	}
	for _, id := range b.submitted {
		s.gpu.submitted[id] = number
	}
	if len(b.awaited) > 0 {
		s.gpu.waits = append(s.gpu.waits, hostWait{number, process, b.awaited})
	}
	return args
}

// sawCall notes whether a call is one of CUDA.
func (g *gpu) sawCall(name, category string) {
	g.isCUDA = g.isCUDA || strings.HasPrefix(category, "cuda_") || strings.HasPrefix(name, "cuda") ||
		strings.HasPrefix(name, "cuLaunch")
}

// operations yields the held operations of devices, and what calls waited for.
func (s *source) operations() bool {
	yield := func(category, name, pid, tid string, start, dur int64, args []byte) bool {
		s.event = traceevent.Event{
			Phase: 'X', Category: []byte(category), Name: []byte(name), PID: []byte(pid), TID: []byte(tid),
			Thread: op.Known(-1), Start: op.Known(start), Duration: op.Known(dur), Args: append(append([]byte{'{'}, args...), '}'),
		}
		return s.yield(&s.event, nil)
	}
	streams := make(map[uint64]*stage)
	for i := range s.gpu.stages {
		g := &s.gpu.stages[i]
		if len(s.gpu.waits) > 0 {
			streams[g.id] = g
		}
		if n := s.gpu.submitted[g.id]; n != 0 && !g.hasLaunch {
			g.args = strconv.AppendUint(append(g.args, `,"correlation":`...), n, 10)
		}
		kind := g.kind
		if isCUDA := g.api == apiCUDA || g.api == 0 && s.gpu.isCUDA; !isCUDA {
			switch kind {
			case kernelKind:
				kind = "kernel_dispatch"
			case "gpu_memcpy", "gpu_memset":
				kind = "memory_copy"
			}
		}
		pid := strconv.FormatInt(g.gpu, 10)
		if kind == "graph_host_node" && g.process != 0 {
			pid = strconv.Quote(processName(g.process))
		}
		if !yield(kind, g.name, pid, strconv.FormatInt(g.stream, 10), g.start, g.dur, g.args) {
			return false
		}
	}
	for _, w := range s.gpu.waits {
		var of *stage
		isOne := true
		for _, id := range w.events {
			if g := streams[id]; g != nil {
				isOne = isOne && (of == nil || of.gpu == g.gpu && of.stream == g.stream)
				of = g
			}
		}
		if of == nil || !isOne {
			continue
		}
		args := strconv.AppendUint([]byte(`"correlation":`), w.correlation, 10)
		args = strconv.AppendInt(append(args, `,"device":`...), of.gpu, 10)
		args = strconv.AppendInt(append(args, `,"stream":`...), of.stream, 10)
		if !yield("cuda_sync", "", strconv.Quote(w.process), "0", 0, 0, args) {
			return false
		}
	}
	return true
}

// power is a counter of the power of a device. Its samples are watts times scale, from the sample on where it looks
// forward, and else up to it.
type power struct {
	scale   float64
	forward bool
	gpu     op.Int
}

// The names of counters of power without a unit, and of limits.
var (
	powerName = regexp.MustCompile(`^(?i:gpu )?Power \(W\)$`)
	notPower  = regexp.MustCompile(`(?i)limit|cap\b|peak|average`)
	wattUnits = map[uint64]float64{28: 1e-3, 29: 1, 30: 1e3} // MILLIWATT, WATT, KILOWATT
)

// powersOf returns the first counter of power of a descriptor.
func powersOf(b []byte, bad *bool) (id uint64, found power) {
	f := fieldsOf(b, bad)
	for f.next() {
		if f.Field != descriptorSpecs || found.scale != 0 {
			continue
		}
		var p power
		var counter uint64
		var name []byte
		ratio := false
		c := fieldsOf(f.data, bad)
		for c.next() {
			switch c.Field {
			case counterID:
				counter = c.n
			case counterName:
				name = c.data
			case counterUnits:
				for unit := range repeated(&c) {
					p.scale = cmp.Or(p.scale, wattUnits[unit])
				}
			case counterPer:
				ratio = true
			case counterDirection:
				p.forward = c.n == 2
			}
		}
		if p.scale == 0 && powerName.Match(name) {
			p.scale = 1
		}
		if p.scale != 0 && !ratio && !notPower.Match(name) {
			id = counter
			found = p
		}
	}
	return id, found
}

// counter takes samples of counters. It hands on the power of devices, as Cuspy writes it in JSON.
func (s *source) counter(b []byte, seq *sequence, at int64, timed bool) bool {
	of := s.gpu.counters
	device := int64(0)
	type sample struct {
		id    uint64
		value float64
	}
	var samples []sample
	f := fieldsOf(b, &s.bad)
	for f.next() {
		switch f.Field {
		case counterDescriptor:
			if id, p := powersOf(f.data, &s.bad); p.scale != 0 {
				s.gpu.counters = map[uint64]power{id: p}
				of = s.gpu.counters
			}
		case counterDescriptorIID:
			of = seq.counters[f.n]
		case counterGPU:
			device = int64(int32(f.n))
		case counterSamples:
			var one sample
			c := fieldsOf(f.data, &s.bad)
			for c.next() {
				switch c.Field {
				case counterID:
					one.id = c.n
				case sampleInt:
					one.value = float64(int64(c.n))
				case sampleDouble:
					one.value = math.Float64frombits(c.n)
				}
			}
			samples = append(samples, one)
		}
	}
	if s.bad {
		return s.fail("a counter that is not well formed")
	}
	for _, one := range samples {
		p, ok := of[one.id]
		if !ok || !timed {
			continue
		}
		device = cmp.Or(p.gpu, op.Known(device)).V
		watts := one.value * p.scale
		if p.forward {
			before, known := s.gpu.last[device]
			if s.gpu.last == nil {
				s.gpu.last = make(map[int64]float64)
			}
			s.gpu.last[device] = watts
			if !known {
				continue
			}
			watts = before
		}
		pid := strconv.Quote("GPU " + strconv.FormatInt(device, 10) + " Counters")
		args := lexer.AppendDouble([]byte(`{"":`), watts)
		s.event = traceevent.Event{Phase: 'C', Name: []byte("Power (W)"), PID: []byte(pid), Start: op.Known(at),
			Args: append(args, '}')}
		return s.yield(&s.event, nil)
	}
	return s.count('C')
}

// isRuntime reports whether a category is one of calls of a device's runtime.
func isRuntime(category []byte) bool {
	return bytes.HasSuffix(category, []byte("_runtime")) || bytes.HasSuffix(category, []byte("_driver")) ||
		bytes.HasSuffix(category, []byte("_api"))
}
