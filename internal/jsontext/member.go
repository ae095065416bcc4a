package jsontext

// Keys are names of members that a caller knows, numbered from 0.
type Keys struct {
	// known numbers the spellings, in quotes and with the comma in front and the
	// colon behind, as programs write them.
	literal []string
	number  []int
	byName  map[string]int // the spelling of a name
	none    int
}

// NewKeys returns the keys whose spellings are given: those of one element have
// its index as their number.
func NewKeys(spellings ...[]string) *Keys {
	k := &Keys{byName: make(map[string]int), none: len(spellings)}
	for number, names := range spellings {
		for _, name := range names {
			k.byName[name] = len(k.literal)
			k.literal = append(k.literal, `,"`+name+`":`)
			k.number = append(k.number, number)
		}
	}
	return k
}

// Order remembers which key came after each in the object before. Texts are
// written by programs, which put the keys of every object in the same order: a
// right guess costs one comparison, where reading a key and looking it up takes
// half of the time that a short object takes.
//
// An Order is not safe for concurrent use.
type Order struct {
	keys *Keys
	// next is what came after each spelling; the last element is for the
	// beginning.
	next []expected
	// prev is the spelling before, len(next)-1 at the beginning.
	prev int
}

// expected is a key that may come next.
type expected struct {
	literal          string // with the comma in front, unless it is the first
	spelling, number int
}

// NewOrder returns an Order that has seen nothing.
func NewOrder(keys *Keys) *Order {
	o := &Order{keys: keys, next: make([]expected, len(keys.literal)+1)}
	for o.prev = range o.next {
		o.expect(0)
	}
	return o
}

// None is the number of a name that is none of the keys.
func (o *Order) None() int { return o.keys.none }

// Start makes o stand before the first key of an object.
func (o *Order) Start() { o.prev = len(o.next) - 1 }

// Starting reports whether o stands before the first key.
func (o *Order) Starting() bool { return o.prev == len(o.next)-1 }

// Guess returns the number of the key that is expected next.
func (o *Order) Guess() int { return o.next[o.prev].number }

// expect makes the spelling the one that is expected after the one before.
func (o *Order) expect(spelling int) {
	e := expected{literal: o.keys.literal[spelling], spelling: spelling, number: o.keys.number[spelling]}
	if o.Starting() {
		e.literal = e.literal[1:]
	}
	o.next[o.prev] = e
}

// Member goes to the next member of the innermost object and consumes its name
// and the colon behind it. It returns the number of the key, or None and the
// name. At the end of the object more is false, and the object is left.
func (l *Lexer) Member(o *Order) (key int, name []byte, more bool) {
	e := &o.next[o.prev]
	end := l.pos + len(e.literal)
	if end <= len(l.buf) && string(l.buf[l.pos:end]) == e.literal && len(l.stack) > 0 {
		top := &l.stack[len(l.stack)-1]
		if top.first == o.Starting() && top.closing == '}' {
			top.first = false
			l.pos = end
			o.prev = e.spelling
			return e.number, nil, true
		}
	}
	return l.member(o)
}

func (l *Lexer) member(o *Order) (key int, name []byte, more bool) {
	if !l.More() {
		return o.keys.none, nil, false
	}
	name = l.Key()
	spelling, ok := o.keys.byName[string(name)]
	if !ok {
		return o.keys.none, name, l.err == nil
	}
	o.expect(spelling)
	o.prev = spelling
	return o.keys.number[spelling], name, l.err == nil
}
