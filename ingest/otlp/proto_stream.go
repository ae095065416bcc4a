package otlp

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// ProtoRecords reads one TracesData message, or several one behind the other,
// which protobuf makes one. Parts of up to MaxMessageBytes are read as a whole;
// larger ones are entered, down to the spans, so that memory stays bounded.
// name stands for src in errors; m is the table from attribute keys to fields,
// nil for the conventions.
func ProtoRecords(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return NewProtoReader(m).Records(src, name, op.Position{}, ProtoPlace{})
}

// ProtoReader is ProtoRecords for several files, or parts of files, one after the
// other. It keeps its buffers, and the strings and attribute keys it has met. It is
// not safe for concurrent use.
type ProtoReader struct{ s protoStream }

// NewProtoReader returns a reader; m is the table from attribute keys to fields,
// nil for the conventions.
func NewProtoReader(m *attr.Mapping) *ProtoReader {
	return &ProtoReader{s: protoStream{r: protoReader{decoder: newDecoder(m)}, most: MaxMessageBytes}}
}

// Records reads src, which starts at a position of the file called name, at a place
// that a [ProtoWalk] has found. A *bytes.Buffer is read where it lies in memory.
func (r *ProtoReader) Records(src io.Reader, name string, at op.Position, place ProtoPlace) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		s := &r.s
		s.name, s.r.yield, s.r.stopped, s.cut = name, yield, false, place.Cut
		s.in.reset(src, at.Offset)
		if err := s.from(&place); err != nil && err != errCut {
			s.r.emit(op.Record{}, s.final(err))
		}
	}
}

// protoStream walks the messages of a stream.
type protoStream struct {
	in   input
	name string
	r    protoReader
	most int64 // MaxMessageBytes but in tests
	cut  bool  // the input ends between two fields, and others follow
}

// errCut is the end of an input that is cut.
var errCut = errors.New("the end of the part")

// from reads on from a place. The headers that hold there have been handed out.
func (s *protoStream) from(p *ProtoPlace) error {
	s.r.resource, s.r.scope = op.Resource{}, op.Scope{}
	// What is wrong with a header has been reported.
	if p.headers[levelResource] != nil {
		_ = s.r.parseResource(wire{buf: p.headers[levelResource]})
	}
	if p.headers[levelScope] != nil {
		_ = s.r.parseScope(wire{buf: p.headers[levelScope]})
	}
	for at := p.level; at > levelTraces; at-- {
		if err := s.fieldsTo(at, p.ends[at], p.listed[at]); err != nil {
			return err
		}
	}
	return s.fields(levelTraces, math.MaxInt64)
}

// level is a message that may be entered.
type level uint8

const (
	levelTraces level = iota
	levelResource
	levelScope
	levelSpan // never entered
)

// header and list report whether a field of a message of the level is its header, or an
// element of its list.
func (at level) header(field uint64) bool { return at != levelTraces && field == fieldGroupHeader }
func (at level) list(field uint64) bool {
	return at == levelTraces && field == fieldTracesResourceSpans || at != levelTraces && field == fieldGroupList
}

// fields reads the fields of a message of the level, up to limit bytes. An
// error leaves no way to go on.
func (s *protoStream) fields(at level, limit int64) error {
	return s.fieldsTo(at, s.in.offset+min(limit, math.MaxInt64-s.in.offset), false)
}

// fieldsTo reads the fields up to the end of the message. listed is set where one of its
// list has been read.
func (s *protoStream) fieldsTo(at level, end int64, listed bool) error {
	for !s.r.stopped && s.in.offset < end {
		tag, err := s.varint()
		switch {
		case err == io.EOF && s.cut:
			return errCut
		case err == io.EOF && at == levelTraces:
			return nil
		}
		if err != nil {
			return err
		}
		field, typ := tag>>3, byte(tag&7)
		if typ != wireBytes {
			if err := s.skip(typ); err != nil {
				return err
			}
			continue
		}
		size, err := s.varint()
		if err != nil {
			return err
		}
		if size > uint64(end-s.in.offset) {
			return errWireEnd
		}
		if at == levelTraces && field == fieldProfilesDictionary {
			s.r.emit(ofSignal("profiles"), nil)
		}
		isHeader, isList := at.header(field), at.list(field)
		if isHeader && listed {
			s.overLimit("resource or scope behind its spans in a message too large to be read as a whole")
		}
		listed = listed || isList
		if err := s.field(at, isHeader, isList, int64(size)); err != nil {
			return err
		}
	}
	return nil
}

// field reads the value of a length-delimited field.
func (s *protoStream) field(at level, isHeader, isList bool, size int64) error {
	switch {
	case !isHeader && !isList:
		return s.discard(size)
	case size <= s.most:
		return s.whole(at, isHeader, size)
	case isList && at+1 < levelSpan:
		s.enter(at + 1)
		return s.fields(at+1, size)
	}
	s.overLimit(fmt.Sprintf("message of %d bytes is longer than %d MiB", size, MaxMessageBytes>>20))
	return s.discard(size)
}

// enter forgets the header of the group before.
func (s *protoStream) enter(at level) {
	if at == levelResource {
		s.r.resource = op.Resource{}
	}
	s.r.scope = op.Scope{}
}

// whole reads a message into memory and decodes it. One that is damaged is
// reported, and what follows it is not affected.
func (s *protoStream) whole(at level, isHeader bool, size int64) error {
	start := s.in.offset
	message, err := s.in.take(size)
	if err != nil {
		return err
	}
	w := wire{buf: message}
	switch {
	case at == levelTraces:
		err = s.r.resourceSpans(w)
	case at == levelResource && isHeader:
		err = s.r.readResource(w)
	case at == levelResource:
		err = s.r.scopeSpans(w)
	case isHeader:
		err = s.r.parseScope(w)
	default:
		err = s.r.readSpan(message)
	}
	if err = s.r.otherSignal(err); err != nil {
		s.r.emit(op.Record{}, &op.SyntaxError{File: s.name, Offset: start, Msg: err.Error()})
	}
	return nil
}

// varint reads a varint. The error is io.EOF only where there is not a byte.
func (s *protoStream) varint() (uint64, error) {
	v := uint64(0)
	for shift := 0; shift < 64; shift += 7 {
		b, err := s.in.ReadByte()
		if err != nil {
			if err == io.EOF && shift > 0 {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, errVarint
}

// skip passes over a value that is not length-delimited. A group may hold any
// fields, groups among them.
func (s *protoStream) skip(typ byte) error {
	for open := 0; ; {
		var err error
		switch typ {
		case wireVarint:
			_, err = s.varint()
		case wireI64:
			err = s.discard(8)
		case wireI32:
			err = s.discard(4)
		case wireBytes:
			var size uint64
			if size, err = s.varint(); err == nil {
				err = s.discard(int64(min(size, math.MaxInt64)))
			}
		case wireStart:
			open++
		case wireEnd:
			if open--; open < 0 {
				err = errWireType
			}
		default:
			err = errWireType
		}
		if err != nil || open == 0 {
			return err
		}
		tag, err := s.varint()
		if err != nil {
			return err
		}
		typ = byte(tag & 7)
	}
}

func (s *protoStream) discard(size int64) error {
	_, err := s.in.discard(size)
	return err
}

// overLimit reports a message that exceeds a limit.
func (s *protoStream) overLimit(msg string) {
	s.r.emit(op.Record{}, &op.SyntaxError{File: s.name, Offset: s.in.offset, Msg: msg, Class: op.ErrorLimit})
}

// final makes the error that ended the walk one for the caller: the end of the
// input within a message is a truncated record, a failure of the source is
// passed on, and anything else is damage.
func (s *protoStream) final(err error) error {
	damage := &op.SyntaxError{File: s.name, Offset: s.in.offset, Msg: err.Error()}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		damage.Msg, damage.Truncated = errWireEnd.Error(), true
	case errors.Is(err, errWireEnd), errors.Is(err, errWireType), errors.Is(err, errVarint):
	default:
		return fmt.Errorf("reading OTLP protobuf: %w", err)
	}
	return damage
}
