package perfetto

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Records reads a trace. name names src in errors, and m selects further arguments; nil is the conventions.
//
// A *[op.SyntaxError] is a bad event or the early end of the trace; any other error is the last value. A record's
// pointers are valid until the next one. A trace may hold [kineto.MaxHeldBytes].
func Records(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		hold := budget.UpTo(kineto.MaxHeldBytes, errTooLarge, attrmap.Account(m).Hold)
		s := &source{
			packets: &packetReader{src: bufio.NewReaderSize(src, 64<<10), name: name}, held: budget.Account{Hold: hold},
			sequences: make(map[uint64]*sequence), tracks: make(tracks),
		}
		defer s.held.Free()
		for rec, err := range kineto.RecordsOf(s, m, hold) {
			if !yield(rec, err) {
				return
			}
		}
	}
}

type source struct {
	packets   *packetReader
	sequences map[uint64]*sequence
	tracks    tracks
	clocks    clocks
	gpu       gpu

	held  budget.Account
	bytes int64 // held ones
	err   error // the error that ended the reading
	bad   bool  // the packet is not well formed

	event                          traceevent.Event
	args, pid, tid, category, name []byte // the buffers behind the event's
	parsed                         []byte // the buffer of the current arguments
	yield                          func(*traceevent.Event, error) bool
}

const holdStep = 64 << 10

var errTooLarge = fmt.Errorf("matching slices: the trace takes more than %d MiB of memory", kineto.MaxHeldBytes>>20)

// Err returns the error that ended the reading early.
func (s *source) Err() error { return s.err }

// RecordError returns an error about the last packet.
func (s *source) RecordError(msg string) *op.SyntaxError { return s.packets.recordError(msg) }

// Member returns the origin of times.
func (s *source) Member(key string) []byte {
	if key != kineto.MemberBase || !s.clocks.real.Known {
		return nil
	}
	return strconv.AppendInt(nil, s.clocks.real.V, 10)
}

// keep adds to the held bytes and reports whether the memory is available.
func (s *source) keep(bytes int64) bool {
	s.bytes += bytes
	s.err = s.held.Set(s.bytes, holdStep)
	return s.err == nil
}

// Events yields the events of the trace.
func (s *source) Events() iter.Seq2[*traceevent.Event, error] {
	return func(yield func(*traceevent.Event, error) bool) {
		s.yield = yield
		for {
			b, err := s.packets.next()
			if err == nil {
				if !s.packet(b, false) {
					return
				}
				continue
			}
			if syntax, ok := errors.AsType[*op.SyntaxError](err); ok && syntax.Class == op.ErrorRecord {
				if !yield(nil, err) {
					return
				}
				continue
			}
			if !errors.Is(err, errDone) {
				s.err = err
			}
			if s.operations() {
				s.unpaired()
			}
			return
		}
	}
}

// unpaired yields an event per beginning without an end, to count it.
func (s *source) unpaired() {
	for _, tr := range s.tracks {
		for range tr.open {
			if !s.count('B') {
				return
			}
		}
	}
}

// count yields an event of a phase, to be counted by kineto.
func (s *source) count(phase byte) bool {
	s.event = traceevent.Event{Phase: phase, Start: op.Known(0)}
	return s.yield(&s.event, nil)
}

func (s *source) fail(msg string) bool { return s.yield(nil, s.RecordError(msg)) }

// packet takes a packet, perhaps from a compressed one, and reports whether the consumer wants more.
func (s *source) packet(b []byte, isInner bool) bool {
	s.bad = false
	p := parsePacket(b, &s.bad)
	if s.bad {
		return s.fail("a packet that is not well formed")
	}
	seq := s.sequences[p.sequence]
	if seq == nil {
		seq = new(sequence)
		s.sequences[p.sequence] = seq
		s.bytes += sequenceBytes
	}
	before := seq.bytes + s.clocks.bytes
	if p.dropped {
		seq.valid = false
	}
	if p.cleared {
		*seq = sequence{valid: true, clocks: seq.clocks}
	}
	seq.intern(p.interned, &s.bad)
	seq.setDefaults(p.defaults, &s.bad)
	s.clocks.snapshot(p.snapshot, seq, &s.bad)
	if !s.keep(seq.bytes + s.clocks.bytes - before) {
		return false
	}
	if s.bad {
		return s.fail("a packet that is not well formed")
	}
	at, timed := s.clocks.time(&p, seq)
	switch {
	case p.event != nil && p.needsState && !seq.valid:
		return s.fail("an event that refers to packets that are missing")
	case p.event != nil:
		return s.trackEvent(&p, seq, at, timed)
	case p.stage != nil:
		return s.renderStage(&p, seq, at, timed)
	case p.counter != nil:
		return s.counter(p.counter, seq, at, timed && p.hasTimestamp)
	case p.descriptor != nil:
		return s.describe(p.descriptor)
	case p.isMetadata, p.snapshot != nil:
		return s.count('M')
	case (p.compressed != nil || p.zstd != nil) && isInner:
		return s.fail("compressed packets within compressed packets")
	case p.compressed != nil:
		return s.inner(expand(p.compressed, false))
	case p.zstd != nil:
		return s.inner(expand(p.zstd, true))
	case p.other:
		return s.count(0)
	}
	return true
}

// inner takes the packets of a compressed packet. err concerns the data behind them.
func (s *source) inner(packets []byte, err error) bool {
	bad := false
	f := fieldsOf(packets, &bad)
	for f.next() {
		if f.Field != tracePacket || f.data == nil {
			return s.fail(fmt.Sprintf("compressed packets: expected a packet, found the field %d", f.Field))
		}
		if !s.packet(f.data, true) {
			return false
		}
	}
	switch {
	case err != nil:
		return s.fail("compressed packets: " + err.Error())
	case bad && len(packets) < MaxCompressedBytes:
		return s.fail("compressed packets end within a packet")
	}
	return true
}

func (s *source) describe(b []byte) bool {
	isNew := s.tracks.describe(b, &s.bad)
	if s.bad {
		return s.fail("a track descriptor that is not well formed")
	}
	if isNew && !s.keep(trackBytes) {
		return false
	}
	return s.count('M')
}

func (s *source) trackEvent(p *packet, seq *sequence, at int64, timed bool) bool {
	e := parseEvent(p.event, seq, s.parsed, &s.bad)
	s.parsed = e.args
	if s.bad {
		return s.fail("an event that is not well formed")
	}
	switch e.kind {
	case typeBegin, typeEnd:
	case typeInstant, typeCounter:
		return s.count('i')
	default:
		return s.count(0)
	}
	key := trackKey{uuid: e.track}
	if !e.hasTrack {
		key = trackKey{sequence: p.sequence, isImplicit: true}
	}
	tr, isNew := s.tracks.of(key)
	if isNew && !s.keep(trackBytes) {
		return false
	}
	problem := e.problem
	switch {
	case problem != "":
	case e.oldTime:
		problem = "an event with a time in microseconds of its own"
	case !p.hasTimestamp:
		problem = "an event without a time"
	case !timed:
		problem = "an event whose time is that of a clock in no snapshot"
	}
	if e.kind == typeBegin {
		b := beginning{name: e.name, category: e.category, args: slices.Clone(e.args), start: at,
			problem: problem != "", launched: e.launched}
		s.gpu.isCUDA = s.gpu.isCUDA || strings.HasPrefix(e.category, "cuda_") || strings.HasPrefix(e.name, "cuda")
		tr.open = append(tr.open, b)
		return s.keep(b.bytes()) && (problem == "" || s.fail(problem))
	}
	return s.finish(tr, &e, at, problem)
}

func (s *source) finish(tr *track, e *event, at int64, problem string) bool {
	n := len(tr.open) - 1
	if n < 0 {
		return s.count('E')
	}
	b := tr.open[n]
	tr.open[n] = beginning{}
	tr.open = tr.open[:n]
	switch {
	case !s.keep(-b.bytes()):
		return false
	case b.problem:
		return true
	case problem != "":
		return s.fail(problem)
	}
	s.pid = scalar.AppendString(s.pid[:0], s.tracks.processOf(tr))
	s.tid = strconv.AppendUint(s.tid[:0], tr.uuid, 10)
	s.category = append(s.category[:0], b.category...)
	s.name = append(s.name[:0], b.name...)
	s.args = append(append(s.args[:0], '{'), b.args...)
	if len(e.args) > 0 {
		s.args = append(comma(s.args), e.args...)
	}
	if len(b.launched) > 0 {
		s.args = append(s.args[:1], s.launched(s.args[1:], b.launched)...)
		if !s.keep(48 * int64(len(b.launched))) {
			return false
		}
	}
	switch {
	case len(s.category) > 0:
	case len(b.launched) > 0, attrkey.IsLaunch(b.name):
		s.category = append(s.category, "cuda_runtime"...)
	case bytes.Contains(s.args, []byte(`"cuda_sync_kind":`)): // Cuspy's have no category
		s.category = append(s.category, "cuda_sync"...)
	}
	s.args = append(s.args, '}')
	s.event = traceevent.Event{
		Phase: 'X', Category: s.category, Name: s.name, PID: s.pid, TID: s.tid, Thread: tr.thread,
		Start: op.Known(b.start), Duration: op.Known(at - b.start), Args: s.args,
	}
	return s.yield(&s.event, nil)
}
