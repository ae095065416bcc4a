package kineto

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/read/profiler"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

func (r *reader) readTail() bool {
	r.skipped[op.SkipUnpaired] += r.pairs.count
	isPlain := r.tables.hostOps.n+r.tables.deviceOps.n == 0 // no trace of a profiler
	for reason, n := range r.skipped {
		if isPlain && strings.HasPrefix(string(reason), string(op.SkipCategory)) {
			delete(r.skipped, reason)
			r.skipped[op.SkipNonOp] += n
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(r.skipped)) {
		if n := r.skipped[reason]; n > 0 && !r.yield(op.Record{Skipped: op.Skipped{Reason: reason, N: n}}, nil) {
			return false
		}
	}
	base := r.timeBase().V
	if base != 0 && r.baseless > 0 {
		msg := fmt.Sprintf("time base behind the events, spans that start without it: %d", r.baseless)
		if !r.yield(op.Record{}, r.events.RecordError(msg)) {
			return false
		}
	}
	resource, known := parseDistributed(r.events.Member(memberDistributed))
	if models := parseModels(r.events.Member(memberDevices)); models != "" {
		resource.Attrs = []op.Attr{{Key: attrkey.HardwareModel, Value: models}}
		known = true
	}
	r.resource = r.resource || known
	if r.resource && !r.yield(op.Record{Resource: &resource}, nil) {
		return false
	}
	entries := entryMaker{
		join: newJoin(&r.tables), build: r.build, feed: r.feed, base: base, rank: resource.Rank,
		trace: opfile.LocalTraceID(r.tables.fingerprint(base, resource.Rank)),
	}
	entries.countEras()
	for i := range r.tables.hostOps.n {
		if !r.yield(op.Record{Entry: entries.host(i)}, nil) {
			return false
		}
	}
	for i := range r.tables.deviceOps.n {
		if !r.yield(op.Record{Entry: entries.device(i)}, nil) {
			return false
		}
	}
	return r.readGaps(&entries) && r.readCalls(&entries) && r.readWaits(&entries)
}

// readGaps yields the counts of launches and steps without an operation.
func (r *reader) readGaps(m *entryMaker) bool {
	calls := &m.calls
	var first launch // of several with one id
	for n, i := range m.byCorrelation {
		l := m.launches.at(i)
		process := m.processOf(l.thread)
		if n == 0 || l.correlation != first.correlation || m.groups.of(process) != m.groups.of(m.processOf(first.thread)) {
			first = *l
		}
		calls.Add(profiler.Call{
			Process: int64(process), Name: m.notes.Text(l.name), Start: l.start, Matched: first.matched,
		})
	}
	for _, gap := range calls.Gaps(m.deviceOps.n > 0, m.steps.Empty()) {
		if !r.yield(op.Record{Gap: &gap}, nil) {
			return false
		}
	}
	return true
}

func (m *entryMaker) countEras() {
	for i := range int32(m.hostOps.n) {
		m.eras.Add(opfile.UnixTime(m.base, m.hostOps.at(i).start))
	}
	for i := range int32(m.deviceOps.n) {
		if d := m.deviceOps.at(i); d.start != 0 || d.dur != 0 {
			m.eras.Add(opfile.UnixTime(m.base, d.start))
		}
	}
}

// readCalls yields ranges other than steps, telling frames of Python, runtime calls outside operators, and waits,
// allocations, lost replays and captures within them.
func (r *reader) readCalls(m *entryMaker) bool {
	var call op.Entry
	begin := func(thread, name uint32, start, dur int64) {
		call = op.Entry{
			Operation: cmp.Or(scalar.ValidUTF8(m.notes.Text(name)), attrkey.Unnamed), Side: op.SideHost,
			Rank:  m.rankOf(m.processOf(thread)),
			Start: m.eras.Tame(opfile.UnixTime(m.base, start)), Duration: dur, Attrs: m.appendThread(call.Attrs[:0], thread),
		}
	}
	for i := range m.ranges.n {
		if m.around.Mark(int32(i)).IsStep() {
			continue
		}
		t := m.ranges.at(int32(i))
		if begin(t.Thread, t.Name, t.Start, t.End-t.Start); !r.yield(op.Record{Call: &call}, nil) {
			return false
		}
	}
	for f := range m.tellingFrames {
		if begin(f.Thread, f.Name, f.Start, f.End-f.Start); !r.yield(op.Record{Call: &call}, nil) {
			return false
		}
	}
	waits := m.waitsOf()
	for i := range m.launches.n {
		l := m.launches.at(int32(i))
		name := m.notes.Text(l.name)
		isLost := !l.matched && (attrkey.IsGraphLaunch(name) || strings.Contains(name, "Capture") ||
			m.calls.IsCaptured(profiler.Call{Process: int64(m.processOf(l.thread)), Name: name, Start: l.start}))
		if l.op >= 0 && !m.isTold(l.name) && !isLost {
			continue
		}
		begin(l.thread, l.name, l.start, l.dur)
		if l.op >= 0 {
			call.TraceID = m.trace
			call.ParentSpanID = profiler.SpanID(int(l.op))
		}
		if w := waits[l]; w != nil {
			m.setWait(&call, l, w)
		}
		if !r.yield(op.Record{Call: &call}, nil) {
			return false
		}
	}
	return true
}

// readWaits yields a call for each operation of a device that an operation waited for.
func (r *reader) readWaits(m *entryMaker) bool {
	ops := make(map[int64]int32)
	for i := range int32(m.events.n) {
		ops[m.events.at(i).event] = m.events.at(i).op
	}
	for i := range int32(m.awaited.n) {
		w := m.awaited.at(i)
		on, ok := ops[w.event]
		if !ok {
			continue
		}
		call := op.Entry{
			Operation: awaitedName, Side: op.SideHost, Rank: m.rankOf(m.deviceOps.at(w.op).process), TraceID: m.trace,
			SpanID: profiler.SpanID(m.hostOps.n + int(on)), ParentSpanID: profiler.SpanID(m.hostOps.n + int(w.op)),
			Start: m.eras.Tame(opfile.UnixTime(m.base, m.deviceOps.at(w.op).start)),
		}
		if !r.yield(op.Record{Call: &call}, nil) {
			return false
		}
	}
	return true
}

const awaitedName = "awaited operation"

func (m *entryMaker) setWait(e *op.Entry, l *launch, w *wait) {
	e.Stream = w.stream
	if w.device.Known {
		e.DeviceID = m.deviceName(&deviceOp{device: int32(w.device.V)})
	}
	var recorded op.Int
	if w.recorded != 0 {
		if by := m.callOf(m.groups.of(m.processOf(l.thread)), w.recorded); by != nil {
			recorded = opfile.UnixTime(m.base, by.start)
		}
	}
	profiler.SetEvent(e, w.of, recorded)
}

// timeBase returns the origin of times in Unix nanoseconds, unknown if the document has not stated it.
func (r *reader) timeBase() op.Int { return parseInt(r.events.Member(MemberBase)) }

func parseDistributed(text []byte) (r op.Resource, known bool) {
	var l lexer.Lexer
	l.Reset(text)
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "rank":
			r.Rank = readCount(&l)
		case "world_size":
			r.WorldSize = readCount(&l)
		default:
			l.Skip()
		}
	}
	return r, r.Rank.Known || r.WorldSize.Known
}

// parseModels returns the different names of the devices.
func parseModels(text []byte) string {
	var l lexer.Lexer
	l.Reset(text)
	var models []string
	for l.Array(); l.More(); {
		for l.Object(); l.More(); {
			if string(l.Key()) != "name" {
				l.Skip()
			} else if name := scalar.ValidUTF8(string(l.AnyStr())); name != "" && !slices.Contains(models, name) {
				models = append(models, name)
			}
		}
	}
	return strings.Join(models, ", ")
}

// fingerprint returns a hash of the content, independent of the file.
func (t *tables) fingerprint(base int64, rank op.Int) uint64 {
	names := fnv.New64a()
	for _, text := range t.symbols.Texts() {
		_, _ = io.WriteString(names, text) // does not fail
		_, _ = names.Write([]byte{0})
	}
	h := profiler.Fingerprint(names.Sum64())
	h.Add(uint64(base), uint64(rank.V))
	for i := range int32(t.hostOps.n) {
		o := t.hostOps.at(i)
		h.Add(uint64(o.start), uint64(o.dur))
		h.Add(uint64(o.thread)<<32|uint64(o.name), uint64(o.inputs)<<32|uint64(o.extra))
	}
	for i := range int32(t.deviceOps.n) {
		d := t.deviceOps.at(i)
		h.Add(uint64(d.start), uint64(d.dur))
		h.Add(uint64(d.correlation), uint64(d.name)<<32|uint64(uint32(d.device)))
		h.Add(uint64(d.bytes), uint64(d.process)<<32|uint64(uint32(d.stream)))
	}
	return uint64(h)
}
