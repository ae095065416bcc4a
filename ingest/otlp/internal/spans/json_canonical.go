package spans

import (
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// The methods in this file read canonical spans, as pdata and this project write them: members in the order of the
// schema, no white space, no escapes in strings, quoted integers. Like lexer's functions, each takes the text and an
// index and returns the index behind the text read, or -1 for text in another form. The lexer reads a single other
// member or attribute; parseSpan reads any other span from its start.

var (
	textTraceID  = lexer.NewName(`{"traceId":`)
	textSpanID   = lexer.NewName(`,"spanId":`)
	textState    = lexer.NewName(`,"traceState":"`)
	textParentID = lexer.NewName(`,"parentSpanId":`)
	textFlags    = lexer.NewName(`,"flags":`)
	textName     = lexer.NewName(`,"name":`)
	textKind     = lexer.NewName(`,"kind":`)
	textStart    = lexer.NewName(`,"startTimeUnixNano":`)
	textEnd      = lexer.NewName(`,"endTimeUnixNano":`)
	textAttrs    = lexer.NewName(`,"attributes":[`)
	textInt      = lexer.NewName(`{"intValue":"`)
	textString   = lexer.NewName(`{"stringValue":"`)
	textArray    = lexer.NewName(`{"arrayValue":`)
	textValues   = lexer.NewName(`{"values":[`)
)

// ReadSpans yields the canonical spans at the lexer's position in its text b. It reports true behind the last one, or
// false in front of a span in another form.
func (r *JSON) ReadSpans(b []byte) (behind bool) {
	l := r.msg.Lexer
	for i := l.Pos(); ; i++ {
		end := r.canonicalSpan(b, i)
		if end < 0 {
			return false
		}
		l.Advance(end - l.Pos())
		r.EmitSpan()
		i = end
		if r.Stopped || i+1 >= len(b) || b[i] != ',' || b[i+1] != '{' {
			return true
		}
		l.Advance(1)
	}
}

func (r *JSON) canonicalSpan(b []byte, i int) int {
	r.begin()
	r.attributes.start()
	f := &r.fields
	i = lexer.QuotedHex(b, textTraceID.Read(b, i), f.trace[:])
	i = lexer.QuotedHex(b, textSpanID.Read(b, i), f.id[:])
	if j := textState.Read(b, i); j > 0 {
		f.state, i = r.canonicalString(b, j)
	}
	if j := textParentID.Read(b, i); j > 0 {
		if i = lexer.Literal(b, j, `""`); i < 0 {
			i = lexer.QuotedHex(b, j, f.parent[:])
		}
	}
	if j := textFlags.Read(b, i); j > 0 {
		var flags int64
		flags, i = lexer.Digits(b, j)
		f.flags = uint32(flags)
	}
	if j := textName.Read(b, i); j > 0 {
		f.rawName, i = lexer.Quoted(b, j)
	}
	if j := textKind.Read(b, i); j > 0 {
		f.kind, i = lexer.Digits(b, j)
	}
	if j := textStart.Read(b, i); j > 0 {
		var start int64
		start, i = lexer.QuotedDigits(b, j)
		f.start = uint64(start)
	}
	if j := textEnd.Read(b, i); j > 0 {
		var end int64
		end, i = lexer.QuotedDigits(b, j)
		f.end = uint64(end)
	}
	if j := textAttrs.Read(b, i); j > 0 {
		i = r.canonicalAttributes(b, j)
	}
	for lexer.Has(b, i, ",") {
		i = r.lastMember(b, i)
	}
	return lexer.Literal(b, i, "}")
}

func (r *JSON) lastMember(b []byte, i int) int {
	if j := lexer.Literal(b, i, `,"status":{}`); j > 0 {
		return j
	}
	if j := r.canonicalLinks(b, lexer.Literal(b, i, `,"links":[`)); j > 0 {
		return j
	}
	return r.otherMember(b, i+1)
}

func (r *JSON) otherMember(b []byte, i int) int {
	key, i := lexer.Quoted(b, i)
	if i = lexer.Literal(b, i, ":"); i < 0 {
		return -1
	}
	l := r.msg.Lexer
	m := l.Mark()
	l.Object()
	l.Advance(i - l.Pos())
	if r.msg.field = spanSchema[string(key)]; r.msg.field != 0 {
		r.parseSpanField(&r.msg)
	} else {
		l.Skip()
	}
	return r.comeBack(m)
}

// comeBack rewinds the lexer to m and returns its former position, -1 for an error.
func (r *JSON) comeBack(m lexer.Mark) int {
	l := r.msg.Lexer
	i := l.Pos()
	if l.Err() != nil {
		i = -1
	}
	l.Rewind(m)
	return i
}

// canonicalString reads a string behind its opening quote.
func (r *JSON) canonicalString(b []byte, i int) (string, int) {
	if i < 0 {
		return "", -1
	}
	end := i + lexer.PlainPrefix(b[i:])
	if end >= len(b) || b[end] != '"' {
		return "", -1
	}
	text, ok := r.strings.Valid(b[i:end])
	if !ok {
		return "", -1
	}
	return text, end + 1
}

// canonicalAttributes reads the elements of a list of attributes and the closing bracket.
func (r *JSON) canonicalAttributes(b []byte, i int) int {
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	before := r.attributes.before
	for start := i - 1; ; i++ {
		a := before.next
		if a == nil || !lexer.Has(b, i, a.text) {
			a = r.attributeAt(b, i, before)
		}
		end := -1
		if a != nil {
			before = a
			end = r.canonicalValue(b, i+len(a.text), a)
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
	r.attributes.before = before
	return i + 1
}

// otherAttribute reads the attribute at i. Its list starts at start.
func (r *JSON) otherAttribute(start, i int) int {
	l := r.msg.Lexer
	m := l.Mark()
	l.Object()
	l.Advance(start - l.Pos())
	l.Array()
	l.Advance(i - l.Pos())
	r.parseAttribute(&r.msg)
	return r.comeBack(m)
}

// The types of attribute values read without the lexer.
var canonicalKinds = [...]struct {
	kind valueKind
	text string
}{
	{kindString, `stringValue":"`}, {kindInt, `intValue":"`}, {kindList, `arrayValue":{"values":[`},
}

// attributeAt returns the attribute at b[i], an unexpected one, or nil if it is not canonical.
func (r *JSON) attributeAt(b []byte, i int, before *attribute) *attribute {
	a := before.other
	if a == nil || !lexer.Has(b, i, a.text) {
		if a = r.newAttributeAt(b, i); a == nil {
			return nil
		}
	}
	before.expect(a)
	return a
}

func (r *JSON) newAttributeAt(b []byte, i int) *attribute {
	name, end := lexer.Quoted(b, lexer.Literal(b, i, `{"key":`))
	end = lexer.Literal(b, end, `,"value":{"`)
	for _, k := range canonicalKinds {
		if lexer.Has(b, end, k.text) {
			text := b[i : end+len(k.text)]
			if len(text) > maxAttributeText {
				return nil
			}
			if a := r.attributes.find(text); a != nil {
				return a
			}
			return r.attributes.add(&attribute{text: string(text), kind: k.kind,
				target: r.builder.Target(string(name))})
		}
	}
	return nil
}

// canonicalValue adds the value at b[i] to the builder and returns the index behind the attribute. It returns -1 before
// it adds a value.
func (r *JSON) canonicalValue(b []byte, i int, a *attribute) int {
	switch a.kind {
	case kindString:
		end := i + lexer.PlainPrefix(b[i:])
		if !lexer.Has(b, end, `"}}`) {
			return -1
		}
		if a.wanted {
			text, ok := r.strings.Valid(b[i:end])
			if !ok {
				return -1
			}
			r.builder.SetText(a.target, text)
		}
		i = end + len(`"}}`)
	case kindInt:
		v, end := lexer.Integer(b, i)
		if i = lexer.Literal(b, end, `"}}`); i < 0 {
			return -1
		}
		if a.wanted {
			r.builder.SetInt(a.target, v)
		}
	default:
		if textString.Read(b, i) > 0 {
			return r.canonicalStrings(b, i, a)
		}
		nested, end := r.canonicalList(b, i)
		if i = lexer.Literal(b, end, `}}}`); i < 0 {
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

// canonicalList reads the elements of a list of integers into dims, or of a list of such lists into dims and ends, and
// the closing bracket.
func (r *JSON) canonicalList(b []byte, i int) (nested bool, end int) {
	r.dims = r.dims[:0]
	r.ends = r.ends[:0]
	for {
		start := textValues.Read(b, textArray.Read(b, i))
		if start < 0 {
			break
		}
		r.dims, i = appendJSONInts(r.dims, b, start)
		r.ends = append(r.ends, len(r.dims))
		if i = lexer.Literal(b, i, `}}`); uint(i) >= uint(len(b)) || b[i] != ',' {
			return true, lexer.Literal(b, i, `]`)
		}
		i++
	}
	if len(r.ends) > 0 {
		return true, -1
	}
	r.dims, end = appendJSONInts(r.dims, b, i)
	return false, end
}

func (r *JSON) canonicalStrings(b []byte, i int, a *attribute) int {
	r.list = r.list[:0]
	for {
		text, end := r.canonicalString(b, textString.Read(b, i))
		if i = lexer.Literal(b, end, `}`); i < 0 {
			return -1
		}
		r.list = append(r.list, text)
		if !lexer.Has(b, i, `,`) {
			break
		}
		i++
	}
	if i = lexer.Literal(b, i, `]}}}`); i > 0 {
		r.builder.SetStrs(a.target, r.list)
	}
	return i
}

// appendJSONInts appends the elements of a list of integers and reads the closing bracket.
func appendJSONInts(dst []int64, b []byte, i int) ([]int64, int) {
	if lexer.Has(b, i, `]`) {
		return dst, i + 1
	}
	for {
		start := textInt.Read(b, i)
		v, end := lexer.Digits(b, start)
		if end < 0 {
			v, end = lexer.Integer(b, start)
		}
		if i = lexer.Literal(b, end, `"}`); uint(i) >= uint(len(b)) {
			return dst, -1
		}
		dst = append(dst, v)
		if b[i] != ',' {
			return dst, lexer.Literal(b, i, `]`)
		}
		i++
	}
}

// canonicalLinks gives the links behind an opening bracket to the builder and returns the index behind the closing
// bracket. It returns -1 before it adds a link.
func (r *JSON) canonicalLinks(b []byte, i int) int {
	if r.links = r.links[:0]; r.builder.KeepsAll() {
		return -1
	}
	for {
		var link op.Link
		i = lexer.QuotedHex(b, lexer.Literal(b, i, `{"traceId":`), link.TraceID[:])
		i = lexer.QuotedHex(b, lexer.Literal(b, i, `,"spanId":`), link.SpanID[:])
		if j := lexer.Literal(b, i, `,"attributes":[`); j > 0 {
			i = canonicalLinkAttributes(b, j, &link)
		}
		if j := lexer.Literal(b, i, `,"flags":`); j > 0 {
			_, i = lexer.Digits(b, j)
		}
		if i = lexer.Literal(b, i, "}"); i < 0 {
			return -1
		}
		r.links = append(r.links, link)
		if !lexer.Has(b, i, ",") {
			break
		}
		i++
	}
	if i = lexer.Literal(b, i, "]"); i > 0 {
		for _, link := range r.links {
			r.builder.AddLink(link)
		}
	}
	return i
}

// canonicalLinkAttributes reads the attributes of a link: known integers and unknown texts.
func canonicalLinkAttributes(b []byte, i int, link *op.Link) int {
	for {
		key, end := lexer.Quoted(b, lexer.Literal(b, i, `{"key":`))
		end = lexer.Literal(b, end, `,"value":{"`)
		if j := lexer.Literal(b, end, `intValue":"`); j > 0 {
			var n int64
			n, end = lexer.Integer(b, j)
			if i = lexer.Literal(b, end, `"}}`); i < 0 || opmodel.LinkInt(link, string(key), n) != 0 {
				return -1
			}
		} else {
			_, end = lexer.Quoted(b, lexer.Literal(b, end, `stringValue":`))
			if i = lexer.Literal(b, end, `}}`); i < 0 || opmodel.LinkWeight(link, string(key)) != nil {
				return -1
			}
		}
		if !lexer.Has(b, i, ",") {
			return lexer.Literal(b, i, "]")
		}
		i++
	}
}
