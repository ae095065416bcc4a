package jaeger

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

type tag struct {
	key   string
	value []byte // JSON text
	// number, float and binary tell how to read a quoted value.
	number, float, binary bool
}

func (d *decoder) next() (t tag) {
	l := &d.lex
	if !l.AnyObject() {
		return t
	}
	for l.More() {
		switch string(l.Key()) {
		case "key":
			t.key = d.text()
		case "type":
			switch string(l.AnyStr()) {
			case "int64":
				t.number = true
			case "float64":
				t.number = true
				t.float = true
			case "binary":
				t.binary = true
			}
		case "value":
			t.value = l.Raw()
		default:
			l.Skip()
		}
	}
	return t
}

// tags reads the tags of a span: attributes into the builder, other fields into f.
func (d *decoder) tags(f *fields) {
	if !d.lex.AnyArray() {
		return
	}
	for d.lex.More() {
		t := d.next()
		switch t.key {
		case attrkey.JaegerError:
			f.Failed = f.Failed || string(t.value) == "true" || string(t.value) == `"true"`
		case attrkey.JaegerStatus:
			f.Failed = f.Failed || string(t.value) == `"ERROR"`
		case attrkey.JaegerDescription:
			f.description = d.tagText(t)
		case attrkey.JaegerScope, attrkey.JaegerOldScope:
			f.scope.Name = d.tagText(t)
		case attrkey.JaegerVersion:
			f.scope.Version = d.tagText(t)
		case attrkey.JaegerKind:
			f.kind = d.tagText(t)
			f.RemoteParent = f.kind == "server" || f.kind == "consumer"
		case attrkey.JaegerTraceState:
			d.build.SetTraceState(d.tagText(t))
		case attrkey.JaegerDropped:
			if n, ok := d.tagInt(t); ok {
				d.build.SetDropped(n)
			}
		case attrkey.JaegerDroppedLinks:
			if n, ok := d.tagInt(t); ok {
				d.build.DropLinks(n)
			}
		default:
			d.attribute(t)
			continue
		}
		if !d.build.KeepsAll() { // else it stands elsewhere
			d.attribute(t)
		}
	}
}

// attribute gives a tag to the builder. A text of a JSON list becomes a list if the builder wants one.
func (d *decoder) attribute(t tag) {
	b := d.build
	to := d.build.Target(t.key)
	switch {
	case t.key == "" || len(t.value) == 0 || t.value[0] == 'n':
	case t.value[0] == '{', t.value[0] == '[', !to.Wanted():
		b.SetOther(to)
	default:
		a := d.attr(t)
		if a.Type == op.AttrText && strings.HasPrefix(a.Value, "[") && to.WantsList() {
			var list bytes.Buffer
			if json.Compact(&list, []byte(a.Value)) == nil {
				a.Value = list.String()
				a.Type = op.AttrJSON
			}
		}
		b.SetAttr(a)
	}
}

// tagInt returns the integer of a tag. Jaeger quotes integers beyond ±2^53.
func (d *decoder) tagInt(t tag) (int64, bool) { return lexer.ParseInt(d.tagBytes(t)) }

// tagText returns the content of a string, and the JSON text of any other value.
func (d *decoder) tagText(t tag) string { return d.valid(d.tagBytes(t)) }

func (d *decoder) tagBytes(t tag) []byte {
	if len(t.value) == 0 || t.value[0] != '"' {
		return t.value
	}
	d.value.Reset(t.value)
	return d.value.Str()
}

// processes reads the processes of a trace into dst, by id. The lexer has the error, if any.
func (d *decoder) processes(text []byte, dst map[string]*op.Resource) {
	l := &d.lex
	l.Reset(text)
	if l.Peek() == 'n' { // null
		return
	}
	for l.Object(); l.More(); {
		id := d.valid(l.Key())
		dst[id] = d.process()
	}
}

func (d *decoder) process() *op.Resource {
	l := &d.lex
	r := &op.Resource{}
	if !l.AnyObject() {
		return r
	}
	for l.More() {
		switch string(l.Key()) {
		case "serviceName":
			if r.Service = d.text(); r.Service == attrkey.JaegerNoService {
				r.Service = ""
			}
		case "tags":
			for more := l.AnyArray(); more && l.More(); {
				if t := d.next(); t.key != "" {
					opmodel.SetResourceAttr(r, &d.build.Outer, d.attr(t))
				}
			}
		default:
			l.Skip()
		}
	}
	return r
}

func (d *decoder) attr(t tag) op.Attr {
	a := op.Attr{Key: t.key, Value: d.tagText(t)}
	n, isInt := d.tagInt(t)
	isText := len(t.value) > 0 && t.value[0] == '"'
	switch {
	case t.binary:
		a.Type = op.AttrBytes
	case isText && !t.number:
	case isInt && !t.float:
		a.Value = strconv.FormatInt(n, 10)
		a.Type = op.AttrInt
	case a.Value == "true" || a.Value == "false":
		a.Type = op.AttrBool
	default:
		if f, ok := lexer.ParseFloat([]byte(a.Value)); ok {
			return opmodel.FloatAttr(t.key, f)
		}
	}
	return a
}

// logs gives the logs of a span to the builder as events. The field "event" is the name.
func (d *decoder) logs() {
	l := &d.lex
	for more := l.AnyArray(); more && l.More(); {
		if !l.AnyObject() {
			continue
		}
		var e op.Event
		for l.More() {
			switch string(l.Key()) {
			case "timestamp":
				e.Time = d.micros()
			case "fields":
				for more := l.AnyArray(); more && l.More(); {
					switch t := d.next(); {
					case t.key == fieldEvent && e.Name == "":
						e.Name = d.tagText(t)
					case t.key != "":
						e.Attrs = d.build.EventAttr(e.Attrs, d.attr(t))
					}
				}
			default:
				l.Skip()
			}
		}
		d.build.AddEvent(e)
	}
}

const fieldEvent = "event"
