package otlp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/optrace/optrace/ingest/otlp/internal/spans"
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
	return &ProtoReader{s: protoStream{r: spans.NewProto(spans.New(m)), most: MaxMessageBytes}}
}

// Records reads src, which starts at a position of the file called name, at a place
// that a [ProtoWalk] has found. A *bytes.Buffer is read where it lies in memory.
func (r *ProtoReader) Records(src io.Reader, name string, at op.Position, place ProtoPlace) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		s := &r.s
		s.name, s.r.Yield, s.r.Stopped, s.place = name, yield, false, place
		s.in.reset(src, at.Offset)
		s.inherit()
		for !s.r.Stopped {
			if err := s.field(); err != nil {
				s.end(err)
				return
			}
		}
	}
}

// protoStream walks the messages of a stream.
type protoStream struct {
	in    input
	name  string
	r     *spans.Proto
	place ProtoPlace
	most  int64 // MaxMessageBytes but in tests
}

// inherit reads the headers that hold at the place, which have been handed out. What is
// wrong with them has been reported.
func (s *protoStream) inherit() {
	s.r.Resource, s.r.Scope = op.Resource{}, op.Scope{}
	if header := s.place.headers[levelResource]; header != nil {
		_ = s.r.ReadResource(header)
	}
	if header := s.place.headers[levelScope]; header != nil {
		_ = s.r.ReadScope(header)
	}
}

// errLast is the end of an input between two fields.
var errLast = errors.New("the end of the input")

// field reads the next field. An error leaves no way to go on.
func (s *protoStream) field() error {
	p := &s.place
	p.leave(s.in.position())
	at := p.level
	tag, err := s.varint()
	if err == io.EOF && (p.Cut || at == levelTraces) {
		return errLast
	}
	if err != nil {
		return err
	}
	if typ := byte(tag & 7); typ != spans.WireBytes {
		return s.skip(typ)
	}
	size, err := s.varint()
	if err != nil {
		return err
	}
	if size > uint64(p.end()-s.in.position()) {
		return spans.ErrEnd
	}
	if at == levelTraces && tag>>3 == spans.FieldDictionary {
		s.r.Emit(spans.OfSignal("profiles"), nil)
	}
	isHeader, isList := at.header(tag>>3), at.list(tag>>3)
	if isHeader && p.listed[at] {
		s.overLimit("resource or scope behind its spans in a message too large to be read as a whole")
	}
	p.listed[at] = p.listed[at] || isList
	switch {
	case !isHeader && !isList:
	case size <= uint64(s.most):
		return s.whole(at, isHeader, int(size))
	case isList && at+1 < levelSpan:
		if at == levelTraces {
			s.r.Resource = op.Resource{}
		}
		s.r.Scope = op.Scope{}
		p.enter(s.in.position() + int64(size))
		return nil
	default:
		s.overLimit(fmt.Sprintf("message of %d bytes is longer than %d MiB", size, MaxMessageBytes>>20))
	}
	return s.in.discard(int64(size))
}

// whole reads a message into memory and decodes it. One that is damaged is
// reported, and what follows it is not affected.
func (s *protoStream) whole(at level, isHeader bool, size int) error {
	start := s.in.position()
	message, err := s.in.take(size)
	if err != nil {
		return err
	}
	switch {
	case at == levelTraces:
		err = s.r.ReadResourceSpans(message)
	case at == levelResource && isHeader:
		err = s.r.EmitResource(message)
	case at == levelResource:
		err = s.r.ReadScopeSpans(message)
	case isHeader:
		err = s.r.ReadScope(message)
	default:
		err = s.r.ReadSpan(message)
	}
	if err = s.r.OtherSignal(err); err != nil {
		s.r.Emit(op.Record{}, &op.SyntaxError{File: s.name, Offset: start, Msg: err.Error()})
	}
	return nil
}

// varint reads a varint. The error is io.EOF only where there is not a byte.
func (s *protoStream) varint() (uint64, error) {
	for n := 1; n <= binary.MaxVarintLen64; n++ {
		text := s.in.peek(n)
		switch {
		case len(text) == n && text[n-1] < 0x80:
			s.in.pos += n
			v, _ := binary.Uvarint(text)
			return v, nil
		case len(text) < n && n > 1 && s.in.err == io.EOF:
			s.in.pos += len(text)
			return 0, io.ErrUnexpectedEOF
		case len(text) < n:
			return 0, s.in.err
		}
	}
	s.in.pos += binary.MaxVarintLen64
	return 0, spans.ErrVarint
}

// skip passes over a value that is not length-delimited. A group may hold any
// fields, groups among them.
func (s *protoStream) skip(typ byte) error {
	for open := 0; ; {
		var err error
		switch typ {
		case spans.WireVarint:
			_, err = s.varint()
		case spans.WireI64:
			err = s.in.discard(8)
		case spans.WireI32:
			err = s.in.discard(4)
		case spans.WireBytes:
			var size uint64
			if size, err = s.varint(); err == nil {
				err = s.in.discard(int64(min(size, math.MaxInt64)))
			}
		case spans.WireStart:
			open++
		case spans.WireEnd:
			if open--; open < 0 {
				err = spans.ErrWireType
			}
		default:
			err = spans.ErrWireType
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

// overLimit reports a message that exceeds a limit.
func (s *protoStream) overLimit(msg string) {
	s.r.Emit(op.Record{}, &op.SyntaxError{File: s.name, Offset: s.in.position(), Msg: msg, Class: op.ErrorLimit})
}

// end reports the error that ended the walk: the end of the input within a message is a
// truncated record, a failure of the source is passed on, and anything else is damage.
func (s *protoStream) end(err error) {
	damage := &op.SyntaxError{File: s.name, Offset: s.in.position(), Msg: err.Error()}
	switch err {
	case errLast:
		return
	case io.EOF, io.ErrUnexpectedEOF:
		damage.Msg, damage.Truncated = spans.ErrEnd.Error(), true
	case spans.ErrEnd, spans.ErrWireType, spans.ErrVarint:
	default:
		s.r.Emit(op.Record{}, fmt.Errorf("reading OTLP protobuf: %w", err))
		return
	}
	s.r.Emit(op.Record{}, damage)
}
