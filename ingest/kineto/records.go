package kineto

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"math"
	"regexp"
	"strings"

	"github.com/optrace/optrace/ingest/internal/attrjson"
	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/internal/read/marks"
	"github.com/optrace/optrace/internal/read/profiler"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

const (
	memberDistributed = "distributedInfo"
	memberDevices     = "deviceProperties"
	// MemberBase is the origin of times in Unix nanoseconds.
	MemberBase = "baseTimeNanoseconds"
)

// Records reads a trace. name names src in errors, and m selects further arguments; nil is the conventions.
//
// A *[op.SyntaxError] is a bad event or the early end of the trace; any other error is the last value. A record's
// pointers are valid until the next one. A trace may hold MaxHeldBytes.
func Records(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r, events := newReader(src, name, m)
		r.held.Hold = budget.UpTo(MaxHeldBytes, errTooLarge, attrmap.Account(m).Hold)
		for events.Next() {
			if !r.read(yield) {
				return
			}
		}
		if err := events.Err(); err != nil { // the records before it are good
			yield(op.Record{}, err)
		}
	}
}

// Source supplies the events of a trace in any format.
type Source interface {
	// Events yields each event, or an *[op.SyntaxError] for a bad one. Err returns the error that ended it early.
	Events() iter.Seq2[*traceevent.Event, error]
	Err() error
	// Member returns the JSON text of a member beside the events, such as [MemberBase], nil if it is unknown.
	Member(key string) []byte
	// RecordError returns an error about the last event.
	RecordError(msg string) *op.SyntaxError
}

// RecordsOf is [Records] for events of any source. The slices of a thread may come in order of their ends, enclosing
// slices last. hold bounds the memory; nil is MaxHeldBytes.
func RecordsOf(events Source, m *attr.Mapping, hold func(bytes int64) error) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r := newReaderOf(events, m)
		r.tables.innerFirst = true
		r.held.Hold = budget.UpTo(MaxHeldBytes, errTooLarge, hold)
		if r.read(yield) && events.Err() != nil {
			yield(op.Record{}, events.Err())
		}
	}
}

// read reads a document and reports whether the consumer wants more.
func (r *reader) read(yield func(op.Record, error) bool) bool {
	r.yield = yield
	defer r.reset()
	return r.readEvents() && r.readTail()
}

func (r *reader) reset() {
	r.tables = tables{}
	r.pairs = pairs{}
	clear(r.skipped)
	r.baseless = 0
	r.held.Free()
}

type reader struct {
	events Source
	yield  func(op.Record, error) bool

	build   *attrmap.Builder
	feed    *attrjson.Feeder
	own     ownArguments // of a plain span
	args    arguments
	names   intern.Table // of plain spans
	key     []byte       // scratch for the key of inputs
	tables  tables
	tracks  tracks
	pairs   pairs
	skipped map[op.SkipReason]int64 // events without an operation

	held     budget.Account
	baseless int64 // spans yielded while the time base was not known
	resource bool  // set if a document had a resource
}

const holdStep = 64 << 10

var errTooLarge = fmt.Errorf("joining events: the trace takes more than %d MiB of memory", MaxHeldBytes>>20)

func newReader(src io.Reader, name string, m *attr.Mapping) (*reader, *traceevent.Reader) {
	events := traceevent.NewReader(src, name, memberDistributed, memberDevices, MemberBase)
	r := newReaderOf(events, m)
	events.ReadArgs(r.straightArgs)
	return r, events
}

func newReaderOf(events Source, m *attr.Mapping) *reader {
	build := attrmap.NewBuilder(m)
	r := &reader{
		events: events,
		build:  build,
		feed:   attrjson.NewFeeder(build),

		tracks:  tracks{names: make(map[string]string), orders: make(map[string][]string)},
		skipped: make(map[op.SkipReason]int64),
	}
	r.args.keys.wants = func(key string) bool { return build.Target(key).Wanted() }
	return r
}

// straightArgs reads the arguments of an event while the event is read.
func (r *reader) straightArgs(e *traceevent.Event, text []byte, i int) (end int) {
	if e.Phase != 'X' {
		return -1
	}
	switch categoryOf(e.Category) {
	case catHostOp, catKernel, catMemory, catRuntime:
		return r.args.straight(text, i)
	}
	return -1
}

func (r *reader) readArgs(e *traceevent.Event) {
	if !e.ArgsRead {
		r.args.parse(e.Args)
	}
}

func (r *reader) readEvents() bool {
	for e, err := range r.events.Events() {
		if err == nil {
			var more bool
			if more, err = r.event(e); err == nil && !more {
				return false
			}
		}
		if err != nil && !r.yield(op.Record{}, err) {
			return false
		}
		if err := r.held.Set(r.tables.heldBytes()+r.tracks.bytes, holdStep); err != nil {
			r.yield(op.Record{}, err)
			return false
		}
	}
	return true
}

// event takes one event and reports whether the consumer wants more. The error is about this event.
func (r *reader) event(e *traceevent.Event) (more bool, err error) {
	if reason := skipReason(e.Phase); reason != "" {
		if e.Phase == 'M' {
			r.tracks.name(e)
		} else if e.Phase == 'C' {
			r.tables.power.add(e)
		} else if e.Phase == 0 && len(e.Name) == 0 && !e.Start.Known {
			reason = op.SkipMetadata // the empty object that some writers end a list with
		}
		r.skipped[reason]++
		return true, nil
	}
	if !e.Start.Known {
		return true, r.events.RecordError("event without ts")
	}
	switch e.Phase {
	case 'B':
		r.begin(e)
		return true, nil
	case 'E':
		return r.end(e), nil
	}
	if len(e.Category) == 0 { // an EventList of torch.autograd.profiler has categories as processes
		switch string(e.PID) {
		case `"CPU functions"`:
			e.Category = []byte("cpu_op")
		case `"CUDA functions"`:
			e.Category = []byte("kernel")
			e.PID = e.TID // the device
		}
	}
	cat := categoryOf(e.Category)
	switch cat {
	case catSync:
		r.wait(e)
		r.skipped[op.SkipRuntime]++
		return true, nil
	case catPython:
		if e.Duration.Known && bytes.HasPrefix(e.Name, []byte(modulePrefix)) {
			r.addRange(&r.tables.ranges, e)
		} else if e.Duration.V >= minFrame {
			e.Name = address.ReplaceAll(e.Name, nil)
			r.addRange(&r.tables.frames, e)
		}
		r.skipped[op.SkipPython]++
		return true, nil
	case catQueue:
		r.longCall(e)
		r.skipped[op.SkipRuntime]++
		return true, nil
	}
	if !e.Duration.Known {
		return true, r.events.RecordError("event without dur")
	}
	switch cat {
	case catHostOp:
		if bytes.HasPrefix(e.Name, []byte("ProfilerStep#")) && r.addMark(e) { // so in the profiler's first versions
			r.skipped[op.SkipAnnotation]++
		} else {
			r.hostOp(e)
		}
	case catKernel, catMemory:
		isMTIA := bytes.HasSuffix(e.Category, []byte("_ccp_events"))
		if isMTIA && bytes.HasPrefix(e.Name, []byte("event_")) { // a stream waits for an event, or records one
			r.skipped[op.SkipRuntime]++
		} else {
			r.deviceOp(e, cat == catMemory || isMTIA && string(e.Name) == "dma_request", makerOf(e.Category))
		}
	case catRuntime:
		r.launch(e)
		r.skipped[op.SkipRuntime]++
	case catAnnotation:
		if r.addMark(e); string(e.Category) == "user_annotation" {
			r.addRange(&r.tables.ranges, e)
		}
		r.skipped[op.SkipAnnotation]++
	default:
		return r.otherEvent(e), nil
	}
	return true, nil
}

// otherEvent takes an event of an unknown category: a span of a plain Chrome trace, an event of another profiler, a
// device event if it states a device and a stream or correlation id, or else a skipped event.
func (r *reader) otherEvent(e *traceevent.Event) (more bool) {
	more, taken := r.plainSpan(e.Name, e.Start.V, e.Duration.V, e.Args, nil)
	if taken || r.placed(e) {
		return more
	}
	if len(e.Category) > 0 && bytes.Contains(e.Args, []byte(`"device"`)) {
		r.args.parse(e.Args)
		if a := &r.args; profiler.Index(a.device).Known && (a.stream.Known || a.correlation.V != 0) {
			e.ArgsRead = true
			r.deviceOp(e, false, makerOf(e.Category))
			return true
		}
	}
	r.skipCategory(e.Category)
	return true
}

// longCall keeps a long call that states no launch, such as a compiler's.
func (r *reader) longCall(e *traceevent.Event) {
	if e.Duration.V >= minFrame {
		r.addRange(&r.tables.frames, e)
	}
}

func (r *reader) hostOp(e *traceevent.Event) {
	r.readArgs(e)
	t := &r.tables
	r.key = appendInputsKey(r.key[:0], e.Name, &r.args.values)
	*t.hostOps.add() = hostOp{
		start: e.Start.V, dur: e.Duration.V, external: r.args.external.V, thread: t.addThread(e),
		name: t.symbols.Add(e.Name), inputs: t.symbols.Add(r.key), collective: t.addCollective(&r.args.collective),
		extra: t.symbols.Add(r.args.extra),
	}
	if a := &r.args; a.autograd.Known {
		*t.gradients.add() = gradient{number: a.autograd.V, op: int32(t.hostOps.n - 1),
			forward: uint32(min(a.forward.V, math.MaxUint32))}
	}
}

func (r *reader) launch(e *traceevent.Event) {
	r.readArgs(e)
	if r.args.correlation.V == 0 {
		return
	}
	t := &r.tables
	*t.launches.add() = launch{
		correlation: r.args.correlation.V,
		start:       e.Start.V,
		dur:         e.Duration.V,
		bytes:       r.args.size.V,
		thread:      t.addThread(e),
		name:        t.notes.Add(e.Name),
	}
}

// wait keeps what the runtime call of the same correlation id waits for.
func (r *reader) wait(e *traceevent.Event) {
	r.readArgs(e)
	a := &r.args
	if a.correlation.V == 0 {
		return
	}
	*r.tables.waits.add() = wait{
		correlation: a.correlation.V, recorded: a.recorded.V, device: profiler.Index(a.device),
		stream: profiler.Index(a.stream), of: profiler.Index(a.waitStream), process: r.tables.notes.Add(e.PID),
	}
}

func (r *reader) deviceOp(e *traceevent.Event, memory bool, maker string) {
	r.readArgs(e)
	a := &r.args
	if a.copyKind != nil && string(e.Name) == "Memcpy" { // Cuspy's
		e.Name = append([]byte("Memcpy "), a.text(a.copyKind)...)
	}
	if a.sycl.Known { // of Intel's devices alone
		a.stream = a.sycl
		maker = "xpu"
	}
	t := &r.tables
	d := deviceOp{
		start: e.Start.V, dur: e.Duration.V, correlation: a.correlation.V, external: a.external.V, bytes: a.bytes.V,
		name: t.symbols.Add(e.Name), collective: t.addCollective(&a.collective), extra: t.symbols.Add(a.extra),
		process: t.symbols.Add(e.PID), geometry: t.notes.Add(a.geometry), memory: memory,
	}
	if !a.device.Known {
		a.device = parseInt(bytes.Trim(e.PID, `"`))
		d.note(hasProcess, true)
	}
	d.maker = t.makerNumber(maker)
	d.note(hasCorrelation, a.correlation.V != 0)
	d.note(hasExternal, a.external.V != 0)
	d.note(hasBadValue, a.bad)
	d.note(hasBytes, a.bytes.Known)
	d.note(hasStream, profiler.Index(a.stream).Known)
	d.note(hasDevice, profiler.Index(a.device).Known)
	d.stream = int32(a.stream.V)
	d.device = int32(a.device.V)
	*t.deviceOps.add() = d
	if a.event.Known {
		*t.events.add() = numbered{a.event.V, int32(t.deviceOps.n - 1)}
	}
	l := &a.lex
	l.Reset(a.awaited)
	for more := a.awaited != nil && l.AnyArray(); more && l.More(); {
		if n := parseInt(l.AnyNumber()); n.Known {
			*t.awaited.add() = numbered{n.V, int32(t.deviceOps.n - 1)}
		}
	}
}

const modulePrefix = "nn.Module: "

// minFrame is the shortest frame of Python that is kept, in nanoseconds: there are thousands of shorter ones.
const minFrame = 1_000_000

// address is the place of an object in memory, in the name of a frame.
var address = regexp.MustCompile(` at 0x[0-9a-f]+`)

func (r *reader) addRange(list *rows[profiler.Range], e *traceevent.Event) {
	t := &r.tables
	*list.add() = profiler.Range{
		Start: e.Start.V, End: e.Start.V + e.Duration.V, Thread: t.addThread(e), Name: t.notes.Add(e.Name),
	}
}

// addMark adds a step if the event's name marks one, and reports whether it does.
func (r *reader) addMark(e *traceevent.Event) bool {
	t := &r.tables
	name := t.notes.Add(e.Name)
	mark := t.marks.Of(name, t.notes.Text(name))
	if !mark.IsStep() {
		return false
	}
	t.steps.Add(mark, marks.Step{Process: int64(t.symbols.Add(e.PID)), Start: e.Start.V, End: e.Start.V + e.Duration.V,
		Name: name})
	return true
}

func (r *reader) skipCategory(cat []byte) {
	reason := op.SkipCategory + op.SkipReason(strings.ToValidUTF8(string(cat), "\ufffd"))
	if _, ok := r.skipped[reason]; len(cat) == 0 || !ok && len(r.skipped) >= maxCategories {
		reason = op.SkipNonOp
	}
	r.skipped[reason]++
}
