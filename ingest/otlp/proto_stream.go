package otlp

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/optrace/optrace/op"
)

// ProtoRecords reads one TracesData message, or several one behind the other,
// which protobuf makes one. Parts of up to MaxMessageBytes are read as a whole;
// larger ones are entered, down to the spans, so that memory stays bounded.
// name stands for src in errors; m is the table from attribute keys to fields,
// nil for the conventions.
func ProtoRecords(src io.Reader, name string, m *op.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		s := &protoStream{
			name: name, r: protoReader{decoder: newDecoder(m), yield: yield},
		}
		s.in.reset(src, 0)
		if err := s.fields(levelTraces, math.MaxInt64); err != nil {
			s.r.emit(op.Record{}, s.final(err))
		}
	}
}

// protoStream walks the messages of a stream.
type protoStream struct {
	in   input
	name string
	r    protoReader
}

// level is a message that may be entered.
type level uint8

const (
	levelTraces level = iota
	levelResource
	levelScope
	levelSpan // never entered
)

// fields reads the fields of a message of the level, up to limit bytes. An
// error leaves no way to go on.
func (s *protoStream) fields(at level, limit int64) error {
	end := s.in.offset + min(limit, math.MaxInt64-s.in.offset)
	listed := false
	for !s.r.stopped && s.in.offset < end {
		tag, err := s.varint()
		if err == io.EOF && at == levelTraces {
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
		isHeader := at != levelTraces && field == fieldGroupHeader
		if isHeader && listed {
			s.overLimit("resource or scope behind its spans in a message too large to be read as a whole")
		}
		isList := at == levelTraces && field == fieldTracesResourceSpans || at != levelTraces && field == fieldGroupList
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
	case size <= MaxMessageBytes:
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
	if err != nil {
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
