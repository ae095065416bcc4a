package otlp

import (
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// The members of a span that nearly every span has, up to where the value
// differs.
const (
	memberTraceID = iota
	memberSpanID
	memberParentID
	memberState
	memberFlags
	memberName
	memberKind
	memberStart
	memberEnd
	memberAttributes
	memberStatus
	memberOther // any other one; nothing, in front of the first member
	numMembers
)

var memberTexts = [memberOther]string{
	`"traceId":"`, `"spanId":"`, `"parentSpanId":"`, `"traceState":"`, `"flags":`, `"name":"`, `"kind":`,
	`"startTimeUnixNano":"`, `"endTimeUnixNano":"`, `"attributes":[`, `"status":{}`,
}

// plainSpans reads spans from where the lexer stands on, in front of one, as long
// as they are written as programs write them: without white space and escapes. It
// reports whether the lexer stands behind a span then; else it stands in front of
// one that carefulSpan has to read.
func (r *jsonReader) plainSpans() (behind bool) {
	l, b := &r.w.lex, r.w.buf
	for i := l.Pos(); ; i++ {
		end := r.plainSpan(b, i)
		if end < 0 {
			return false
		}
		l.Advance(end - l.Pos())
		r.emit(r.end(), nil)
		i = end
		if r.stopped || i+1 >= len(b) || b[i] != ',' || b[i+1] != '{' {
			return true
		}
		l.Advance(1)
	}
}

// plainSpan reads the span at b[i], where the lexer stands. It returns the index
// behind it, or -1 where the span is written in another way, or not valid.
func (r *jsonReader) plainSpan(b []byte, i int) int {
	r.begin()
	if i >= len(b) || b[i] != '{' {
		return -1
	}
	f := &r.fields
	for before := memberOther; ; {
		i++
		m := r.memberAt(b, i, before)
		if m != memberOther {
			i += len(memberTexts[m])
		}
		switch m {
		case memberTraceID:
			i = closingQuote(b, i+2*len(f.trace))
			if i < 0 || !jsontext.DecodeHex(f.trace[:], b[i-1-2*len(f.trace):i-1]) {
				return -1
			}
		case memberSpanID:
			i = closingQuote(b, i+2*len(f.id))
			if i < 0 || !jsontext.DecodeHex(f.id[:], b[i-1-2*len(f.id):i-1]) {
				return -1
			}
		case memberParentID:
			if i < len(b) && b[i] == '"' { // none
				f.parent = op.SpanID{}
				i++
				break
			}
			i = closingQuote(b, i+2*len(f.parent))
			if i < 0 || !jsontext.DecodeHex(f.parent[:], b[i-1-2*len(f.parent):i-1]) {
				return -1
			}
		case memberState:
			f.state, i = r.plainText(b, i)
		case memberName:
			f.name, i = r.plainText(b, i)
		case memberFlags:
			var v int64
			v, i = jsontext.Digits(b, i)
			f.flags = uint32(v)
		case memberKind:
			_, i = jsontext.Digits(b, i)
		case memberStart:
			var v int64
			v, i = jsontext.Digits(b, i)
			f.start, i = uint64(v), closingQuote(b, i)
		case memberEnd:
			var v int64
			v, i = jsontext.Digits(b, i)
			f.end, i = uint64(v), closingQuote(b, i)
		case memberAttributes:
			i = r.plainAttributes(b, i)
		case memberStatus: // nothing in it
		default:
			i = r.otherMember(b, i)
		}
		if uint(i) >= uint(len(b)) || b[i] != ',' {
			break
		}
		before = m
	}
	if uint(i) >= uint(len(b)) || b[i] != '}' {
		return -1
	}
	return i + 1
}

// memberAt returns which member is at b[i], behind the one before. What followed
// that in the last span is tried first.
func (r *jsonReader) memberAt(b []byte, i, before int) int {
	if m := int(r.memberAfter[before]); jsontext.Has(b, i, memberTexts[m]) {
		return m
	}
	for m, text := range memberTexts {
		if jsontext.Has(b, i, text) {
			r.memberAfter[before] = uint8(m)
			return m
		}
	}
	return memberOther
}

// otherMember reads any member.
func (r *jsonReader) otherMember(b []byte, i int) int {
	key, i := jsontext.Quoted(b, i)
	if i = jsontext.Literal(b, i, ":"); i < 0 {
		return -1
	}
	l := &r.w.lex
	m := l.Mark()
	l.Object()
	l.Advance(i - l.Pos())
	r.parseSpanMember(l, key)
	return r.comeBack(m)
}

// comeBack takes the lexer back to m and returns where it stood, -1 for an error.
func (r *jsonReader) comeBack(m jsontext.Mark) int {
	l := &r.w.lex
	i := l.Pos()
	if l.Err() != nil {
		i = -1
	}
	l.Rewind(m)
	return i
}

// closingQuote returns the index behind the quote at b[i], -1 where there is none.
func closingQuote(b []byte, i int) int {
	if uint(i) < uint(len(b)) && b[i] == '"' {
		return i + 1
	}
	return -1
}

// plainText reads a string whose opening quote has been read.
func (r *jsonReader) plainText(b []byte, i int) (string, int) {
	end := i + jsontext.PlainPrefix(b[i:])
	if end >= len(b) || b[end] != '"' {
		return "", -1
	}
	return r.strings.String(b[i:end]), end + 1
}

// plainAttributes reads the elements of a list of attributes, and the bracket
// behind them.
func (r *jsonReader) plainAttributes(b []byte, i int) int {
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for start := i - 1; ; i++ {
		a := r.attributes.before.next
		if a == nil || !jsontext.Has(b, i, a.text) {
			a = r.attributeAt(b, i)
		}
		end := -1
		if a != nil {
			r.attributes.took(a)
			end = r.plainValue(b, i+len(a.text), a)
		}
		if end < 0 {
			end = r.otherAttribute(start, i)
		}
		if i = end; uint(i) >= uint(len(b)) || b[i] != ',' {
			break
		}
	}
	if uint(i) >= uint(len(b)) || b[i] != ']' {
		return -1
	}
	return i + 1
}

// otherAttribute reads the attribute at i, whose list starts at start.
func (r *jsonReader) otherAttribute(start, i int) int {
	l := &r.w.lex
	m := l.Mark()
	l.Object()
	l.Advance(start - l.Pos())
	l.Array()
	l.Advance(i - l.Pos())
	r.parseAttribute(l)
	return r.comeBack(m)
}

// The values of attributes that are read without the lexer.
var plainKinds = [...]struct {
	kind valueKind
	text string
}{
	{kindString, `stringValue":"`}, {kindInt, `intValue":"`}, {kindList, `arrayValue":{"values":[`},
}

// attributeAt returns the attribute at b[i], nil where it is written in another way.
func (r *jsonReader) attributeAt(b []byte, i int) *attribute {
	name, end := jsontext.Quoted(b, jsontext.Literal(b, i, `{"key":`))
	end = jsontext.Literal(b, end, `,"value":{"`)
	for _, k := range plainKinds {
		if jsontext.Has(b, end, k.text) {
			text := b[i : end+len(k.text)]
			if a := r.attributes.find(text); a != nil {
				return a
			}
			return r.attributes.add(&attribute{text: string(text), kind: k.kind, target: r.builder.Target(string(name))})
		}
	}
	return nil
}

// plainValue feeds the value at b[i] to the builder. It returns the index behind the
// attribute, or -1, and has done nothing, where the value is written in another way.
func (r *jsonReader) plainValue(b []byte, i int, a *attribute) int {
	switch a.kind {
	case kindString:
		end := i + jsontext.PlainPrefix(b[i:])
		if !jsontext.Has(b, end, `"}}`) {
			return -1
		}
		if a.wanted {
			r.builder.SetStr(a.target, r.strings.String(b[i:end]))
		}
		i = end + len(`"}}`)
	case kindInt:
		v, end := jsontext.Integer(b, i)
		if i = jsontext.Literal(b, end, `"}}`); i < 0 {
			return -1
		}
		if a.wanted {
			r.builder.SetInt(a.target, v)
		}
	default:
		nested, end := r.plainList(b, i)
		if i = jsontext.Literal(b, end, `}}}`); i < 0 {
			return -1
		}
		switch {
		case !a.wanted:
		case nested:
			r.builder.SetIntLists(a.target, r.dims, r.ends)
		default:
			r.builder.SetInts(a.target, r.dims)
		}
	}
	if !a.wanted {
		r.builder.SetOther(a.target)
	}
	return i
}

// plainList reads the elements of a list of integers, or of lists of them, into dims
// and ends, and the bracket behind them.
func (r *jsonReader) plainList(b []byte, i int) (nested bool, end int) {
	const open = `{"arrayValue":{"values":[`
	r.dims, r.ends = r.dims[:0], r.ends[:0]
	if !jsontext.Has(b, i, open) {
		return false, r.plainInts(b, i)
	}
	for jsontext.Has(b, i, open) {
		i = jsontext.Literal(b, r.plainInts(b, i+len(open)), `}}`)
		r.ends = append(r.ends, len(r.dims))
		if uint(i) >= uint(len(b)) || b[i] != ',' {
			return true, jsontext.Literal(b, i, `]`)
		}
		i++
	}
	return true, -1
}

// plainInts appends the elements of a list of integers to dims, and reads the
// bracket behind them.
func (r *jsonReader) plainInts(b []byte, i int) int {
	if jsontext.Has(b, i, `]`) {
		return i + 1
	}
	for {
		v, end := jsontext.Integer(b, jsontext.Literal(b, i, `{"intValue":"`))
		if i = jsontext.Literal(b, end, `"}`); uint(i) >= uint(len(b)) {
			return -1
		}
		r.dims = append(r.dims, v)
		if b[i] != ',' {
			return jsontext.Literal(b, i, `]`)
		}
		i++
	}
}
