package op

import "strconv"

// replay returns the entry that a reader makes of the attributes in e.Attrs alone, nil
// where they are those of no operation, or all keys in them that mean something are of
// the convention. Spans of torch.profiler, and such as have keys like "op", are kept
// with their own keys, which need not be said again in those of the convention.
func (e *Entry) replay() *Entry {
	if !hasOtherKeys(e.Attrs) {
		return nil
	}
	b := NewBuilder(nil)
	b.Reset()
	b.SetName(e.Operation)
	if e.Extra != nil && e.Extra.Name != "" {
		b.SetName(e.Extra.Name)
	}
	for _, a := range e.Attrs {
		if a.Type == AttrJSON && b.WantsList(a.Key) {
			a.Type = AttrText // a list in JSON means what the list does
		}
		b.SetAttr(a)
	}
	r, ok := b.Entry()
	if !ok {
		return nil
	}
	return r
}

// hasOtherKeys reports whether a key that is not of the convention means something.
func hasOtherKeys(attrs []Attr) bool {
	var none *Mapping
	for i := range attrs {
		if t := none.lookup(attrs[i].Key); t.family != familyNone && t.family != familyTensor {
			return true
		}
	}
	return false
}

// attrTexts is a sink that keeps a text of each attribute.
type attrTexts map[string]string

var _ AttrSink = attrTexts{}

// Str implements [AttrSink].
func (t attrTexts) Str(key, value string) { t[key] = value }

// Int implements [AttrSink].
func (t attrTexts) Int(key string, value int64) { t[key] = strconv.FormatInt(value, 10) }

// DTypes implements [AttrSink].
func (t attrTexts) DTypes(key string, list []DType) {
	text := listText{}
	text.start()
	for _, d := range list {
		text.str(string(d))
	}
	text.close()
	t[key] = string(text.buf)
}

// Shape implements [AttrSink].
func (t attrTexts) Shape(key string, shape Shape) { t[key] = string(shape.appendJSON(nil)) }

// Shapes implements [AttrSink].
func (t attrTexts) Shapes(key string, list []Shape) { t[key] = string(appendShapes(nil, list)) }

// unsaidSink passes on attributes that were not said.
type unsaidSink struct {
	to   AttrSink
	said attrTexts
}

var _ AttrSink = unsaidSink{}

// pass calls send with the sink unless the attribute that it sends was said.
func (u unsaidSink) pass(key string, send func(AttrSink)) {
	one := attrTexts{}
	send(one)
	if text, ok := u.said[key]; !ok || text != one[key] {
		send(u.to)
	}
}

// Str implements [AttrSink].
func (u unsaidSink) Str(key, value string) { u.pass(key, func(to AttrSink) { to.Str(key, value) }) }

// Int implements [AttrSink].
func (u unsaidSink) Int(key string, value int64) {
	u.pass(key, func(to AttrSink) { to.Int(key, value) })
}

// DTypes implements [AttrSink].
func (u unsaidSink) DTypes(key string, list []DType) {
	u.pass(key, func(to AttrSink) { to.DTypes(key, list) })
}

// Shape implements [AttrSink].
func (u unsaidSink) Shape(key string, shape Shape) {
	u.pass(key, func(to AttrSink) { to.Shape(key, shape) })
}

// Shapes implements [AttrSink].
func (u unsaidSink) Shapes(key string, list []Shape) {
	u.pass(key, func(to AttrSink) { to.Shapes(key, list) })
}
