package kineto

import (
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/ingest/internal/attrjson"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/kernelname"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/read/profiler"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

type entryMaker struct {
	*join
	build *attrmap.Builder
	feed  *attrjson.Feeder
	trace op.TraceID
	base  int64
	rank  op.Int

	lex     lexer.Lexer
	coll    collective
	inputs  map[uint32]*inputs   // by symbol
	devices map[deviceKey]string // names
	attrs   map[uint32][]op.Attr // by symbol of geometry
	keeper  *attrmap.Builder     // of these
	kinds   []deviceKind         // by symbol of a name
	phases  map[uint32]string    // by symbol of the name of an operator
	numbers map[int64]string     // their text
	waiting map[uint32]bool      // by symbol of the name of a call
	further []op.Attr            // of the entry
	shares  map[int32]int64      // kernels that do the work of an operator, by its number; nil before the first
	// gradient is the next row of gradients, gradientNumber the number of the last row, numberText its text, and plain
	// the plain names of operators by symbol.
	gradient       int32
	gradientNumber int64
	numberText     string
	plain          []plainNames
	step           string // the name of the step of the entry
	eras           profiler.Eras
	calls          profiler.Calls
}

// deviceKind is the kind of a device event by its name; the zero value is not yet computed.
type deviceKind struct {
	kind op.Kind
	rule op.KindRule
	task kernelname.Task
}

// remember caches a value. It clears the cache when it is full.
func remember[K comparable, V any](values *map[K]V, key K, v V) V {
	const most = 1 << 14
	if *values == nil || len(*values) >= most {
		*values = make(map[K]V)
	}
	(*values)[key] = v
	return v
}

func (m *entryMaker) begin(name, extra uint32, start, dur int64) {
	m.build.Reset()
	m.step = ""
	if extra != 0 {
		m.lex.Reset([]byte(m.symbols.Text(extra)))
		m.feed.Object(&m.lex)
	}
	m.build.Str(attrkey.Name, m.symbols.Text(name))
	m.build.SetTime(opfile.UnixTime(m.base, start), dur)
}

// finish completes the entry of an event of a process. It sets directly the fields unknown to the builder and the values
// shared by many rows.
func (m *entryMaker) finish(process, inputs, coll uint32) *op.Entry {
	e, _ := m.build.Entry() // an operation, for it has a name
	e.StepName = m.step
	m.eras.Check(e)
	if rank := m.rankOf(process); rank.Known {
		e.Rank = rank
	}
	if inputs != 0 {
		in := m.inputsOf(inputs)
		e.InputShapes, e.InputDTypes = in.shapes, in.dtypes
		e.Warn |= in.warn
	}
	if coll != 0 {
		m.coll = *m.collectives.at(int32(coll - 1))
		e.Collective = &m.coll.Collective
	}
	return e
}

// rankOf returns the rank of a process: that of its group, or else that of the file.
func (m *entryMaker) rankOf(process uint32) op.Int {
	if rank := m.groups[process].rank; rank.Known {
		return rank
	}
	return m.rank
}

func (m *entryMaker) host(i int) *op.Entry {
	o := m.hostOps.at(int32(i))
	m.begin(o.name, o.extra, o.start, o.dur)
	m.build.SetIDs(m.trace, profiler.SpanID(i), profiler.SpanID(int(o.parent)))
	m.build.Str(attrkey.Device, "cpu")
	m.build.Str(attrkey.Side, op.SideHost.String())
	m.setStep(m.processOf(o.thread), o.start)
	e := m.finish(m.processOf(o.thread), o.inputs, o.collective)
	m.setRanges(e, o.thread, o.start, int32(i))
	if o.inputs != 0 {
		if out := m.inputsOf(o.inputs).output; out != nil {
			e.OutputShape = out
			e.OutputElements, _ = out.Elements()
		}
	}
	if o.collective != 0 {
		e.Kind = op.KindCollective
		e.KindRule = op.RuleAttribute
	}
	m.addGradient(e, int32(i))
	if m.threadIDs[o.thread] != "" {
		m.further = m.appendThread(append(m.further[:0], e.Attrs...), o.thread)
		e.Attrs = m.further
	}
	return e
}

// addGradient adds the autograd attributes of the i-th host operator. It is called in order of i.
func (m *entryMaker) addGradient(e *op.Entry, i int32) {
	if m.gradient == int32(m.gradients.n) || m.gradients.at(m.gradient).op != i {
		return
	}
	g := m.gradients.at(m.gradient)
	m.gradient++
	if m.numberText == "" || m.gradientNumber != g.number { // operators within others mostly have the same
		m.gradientNumber = g.number
		m.numberText = strconv.FormatInt(g.number, 10)
	}
	m.attach(e, op.Attr{Key: attrkey.AutogradSequence, Value: m.numberText, Type: op.AttrInt})
	if g.forward != 0 {
		m.attach(e, op.Attr{Key: attrkey.ForwardThread, Value: m.number(int64(g.forward)), Type: op.AttrInt})
		if f := m.forwardOf(g); f >= 0 {
			m.attach(e, op.Attr{Key: attrkey.ForwardName, Value: scalar.ValidUTF8(m.symbols.Text(m.hostOps.at(f).name))})
		}
	}
}

// attach adds attributes to an entry, valid until the next entry.
func (m *entryMaker) attach(e *op.Entry, attrs ...op.Attr) {
	m.further = append(append(m.further[:0], e.Attrs...), attrs...)
	e.Attrs = m.further
}

// device makes the entry of the i-th device event. Category and name prefix alone decide its kind.
func (m *entryMaker) device(i int) *op.Entry {
	d := m.deviceOps.at(int32(i))
	call := m.launchOf(d)
	if call != nil {
		call.matched = true
	}
	launcher := m.hostOpOf(d, call)
	var o *hostOp
	if launcher >= 0 {
		o = m.hostOps.at(launcher)
	}
	kind, rule := m.kindOf(d.name)
	coll := d.collective
	if coll == 0 && kind == op.KindCollective && o != nil {
		coll = o.collective // in older versions only the host's event has it
	}
	if d.memory {
		kind = op.KindMemory
		rule = op.RuleAttribute
	}

	m.begin(d.name, d.extra, d.start, d.dur)
	b := m.build
	b.SetIDs(m.trace, profiler.SpanID(m.hostOps.n+i), op.SpanID{})
	if d.has&hasDevice != 0 {
		b.Str(attrkey.Device, m.deviceName(d))
	}
	if d.has&hasStream != 0 {
		b.Int(attrkey.Stream, int64(d.stream))
	}
	switch {
	case d.has&hasBytes != 0:
		b.Int(attrkey.Memory, d.bytes)
	case d.memory && call != nil && call.bytes > 0:
		b.Int(attrkey.Memory, call.bytes)
	}
	if coll != 0 {
		c := m.collectives.at(int32(coll - 1))
		b.Str(attrkey.DType, string(c.dtype))
		if c.OutElements.Known {
			b.Int(attrkey.OutputElements, c.OutElements.V)
		}
	}
	switch {
	case call != nil:
		m.setStep(m.processOf(call.thread), call.start)
	case o != nil:
		m.setStep(m.processOf(o.thread), o.start)
	default:
		m.setStep(d.process, d.start)
	}
	inputs := uint32(0)
	if o != nil {
		inputs = o.inputs
	}
	e := m.finish(d.process, inputs, coll)
	e.Kind = kind
	e.KindRule = rule
	var launch op.Int
	if call != nil {
		launch = op.Known(call.start)
	}
	if !profiler.HasTime(d.start, d.dur, launch) {
		e.Start = op.Int{}
		e.Warn |= op.WarnBadTime
	}
	if d.has&hasBadValue != 0 {
		e.Warn |= op.WarnBadValue
	}
	switch {
	case call != nil:
		e.Launch = opfile.UnixTime(m.base, call.start)
		m.setRanges(e, call.thread, call.start, launcher)
	case o != nil:
		m.setRanges(e, o.thread, o.start, launcher)
	}
	if o != nil {
		e.LaunchedBy = scalar.ValidUTF8(m.symbols.Text(o.name))
		e.LaunchSpanID = profiler.SpanID(int(launcher))
	} else if call != nil && attrkey.IsGraphLaunch(m.notes.Text(call.name)) {
		e.LaunchedBy = m.rangeAround(call)
	}
	m.addAttrs(e, d.geometry, call)
	if watts := m.power.mean(d); watts != "" {
		m.attach(e, op.Attr{Key: attrkey.Power, Value: watts, Type: op.AttrFloat})
	}
	for _, a := range e.Attrs {
		if a.Key == attrkey.GraphNodeName { // the module in which the node was captured
			e.Path = strings.TrimPrefix(e.Path+op.PathSeparator+a.Value, op.PathSeparator)
		}
	}
	if o != nil && m.taskOf(d.name) != kernelname.Aside {
		m.addShare(e, o, launcher)
	}
	return e
}

// addShare adds to the entry of a kernel its share in the work of the operator that launched it, and the operator's
// output.
func (m *entryMaker) addShare(e *op.Entry, o *hostOp, launcher int32) {
	if out := m.inputsOf(o.inputs).output; out != nil {
		e.OutputShape = out
		e.OutputElements, _ = out.Elements()
	}
	if m.shares == nil {
		m.shares = make(map[int32]int64)
		for i := range int32(m.deviceOps.n) {
			if d := m.deviceOps.at(i); m.taskOf(d.name) != kernelname.Aside {
				m.shares[m.hostOpOf(d, m.launchOf(d))]++
			}
		}
	}
	n := m.shares[launcher]
	if m.symbols.Text(o.name) == "aten::convolution_backward" {
		n = (n + 1) / 2 // two products: the gradients of the input and of the weights
	}
	if n > 1 {
		m.attach(e, op.Attr{Key: attrkey.LaunchShare, Value: m.number(n), Type: op.AttrInt})
	}
}

// addAttrs adds the attributes of a launch, valid until the next entry. call may be nil.
func (m *entryMaker) addAttrs(e *op.Entry, geometry uint32, call *launch) {
	m.further = append(m.further[:0], e.Attrs...)
	if geometry != 0 {
		m.further = append(m.further, m.geometryOf(geometry)...)
	}
	if call != nil && call.dur > 0 {
		m.further = append(m.further, op.Attr{Key: attrkey.LaunchDuration, Value: m.number(call.dur), Type: op.AttrInt})
	}
	if call != nil && call.name != 0 {
		m.further = append(m.further, op.Attr{Key: attrkey.LaunchCall, Value: scalar.ValidUTF8(m.notes.Text(call.name))})
	}
	if call != nil {
		m.further = m.appendThread(m.further, call.thread)
	}
	if len(m.further) > 0 {
		e.Attrs = m.further
	}
}

// appendThread appends the id of a thread, if it is known.
func (t *tables) appendThread(to []op.Attr, thread uint32) []op.Attr {
	if id := t.threadIDs[thread]; id != "" {
		to = append(to, op.Attr{Key: attrkey.Thread, Value: id, Type: op.AttrInt})
	}
	return to
}

func (m *entryMaker) number(n int64) string {
	text, ok := m.numbers[n]
	if !ok {
		text = remember(&m.numbers, n, strconv.FormatInt(n, 10))
	}
	return text
}

func (m *entryMaker) geometryOf(symbol uint32) []op.Attr {
	attrs, ok := m.attrs[symbol]
	if !ok {
		if m.keeper == nil {
			keep := &attr.Mapping{}
			for _, key := range geometry {
				keep.Keep(key)
			}
			m.keeper = attrmap.NewBuilder(keep)
		}
		m.keeper.Reset()
		m.keeper.Str(attrkey.Name, "kernel")
		m.lex.Reset([]byte(m.notes.Text(symbol)))
		attrjson.NewFeeder(m.keeper).Object(&m.lex)
		e, _ := m.keeper.Entry()
		attrs = slices.Clone(e.Attrs)
		slices.SortFunc(attrs, func(a, b op.Attr) int { // whatever order the file has
			return slices.Index(geometry[:], a.Key) - slices.Index(geometry[:], b.Key)
		})
		remember(&m.attrs, symbol, attrs)
	}
	return attrs
}

func (m *entryMaker) setStep(process uint32, at int64) {
	if s := m.steps.At(int64(process), at); s != nil {
		s.Used = true
		m.build.Int(attrkey.Step, s.Number.V)
		m.step = scalar.ValidUTF8(m.notes.Text(s.Name))
	}
}

func (m *entryMaker) inputsOf(symbol uint32) *inputs {
	if in, ok := m.inputs[symbol]; ok {
		return in
	}
	return remember(&m.inputs, symbol, parseInputs(m.symbols.Text(symbol)))
}

func (m *entryMaker) kindOf(name uint32) (op.Kind, op.KindRule) {
	if m.kinds == nil {
		m.kinds = make([]deviceKind, len(m.symbols.Texts())+1)
	}
	k := &m.kinds[name]
	if k.kind == op.KindUnknown {
		k.kind, k.rule = op.InferDeviceKind(m.symbols.Text(name))
		k.task = kernelname.TaskOf(m.symbols.Text(name))
	}
	return k.kind, k.rule
}

// isTold reports whether a call of the name is told within an operator, too: it waits, makes a stream wait, or takes or gives
// back memory.
func (m *entryMaker) isTold(name uint32) bool {
	is, ok := m.waiting[name]
	if !ok {
		text := m.notes.Text(name)
		is = remember(&m.waiting, name, attrkey.IsWait(text) || attrkey.IsStreamWait(text) || attrkey.IsAllocation(text))
	}
	return is
}

// taskOf returns what a kernel does of an operator's work.
func (m *entryMaker) taskOf(name uint32) kernelname.Task {
	if kind, _ := m.kindOf(name); kind != op.KindCompute {
		return kernelname.Aside
	}
	return m.kinds[name].task
}

// deviceKey identifies a device.
type deviceKey struct {
	maker  uint16
	device int32 // -1 where it has no number
}

// deviceName returns the name of an event's device. PyTorch calls AMD's devices CUDA devices, too. A device of another
// maker gets no number if the number would be the id of a host process.
func (m *entryMaker) deviceName(d *deviceOp) string {
	key := deviceKey{d.maker, d.device}
	ofHost := func(t threadKey) bool { return t.process == d.process }
	if d.maker != 0 && d.has&hasProcess != 0 && slices.ContainsFunc(m.threads.Values, ofHost) {
		key.device = -1
	}
	name, ok := m.devices[key]
	if !ok {
		name = "cuda"
		if d.maker != 0 {
			name = scalar.ValidUTF8(m.makers[d.maker-1])
		}
		if key.device >= 0 {
			name += ":" + strconv.Itoa(int(d.device))
		}
		remember(&m.devices, key, name)
	}
	return name
}
