package op

import (
	"bytes"
	"slices"

	"github.com/optrace/optrace/internal/recall"
)

// A layout is what the lines of one operation have in common: all of the text
// but the values that differ each time it runs. A line whose layout is known is
// not taken apart: its pieces of text are compared, and what they said is copied,
// which takes a quarter of the time.
//
//	{"step":3,"operation":"relu",…,"duration_us":1.5,"output_elements":8,…,"start_unix_ns":1760…
//	         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
//	         first                                 a piece, with the key that it ends with
//
// What stands in front of the first key with a value that repeats is read as
// usual, and tells nothing of the layout.
type layout struct {
	// pieces are the first of so many. They lie in the layout itself: what one line
	// needs then lies together, which halves the cache misses.
	pieces [maxPieces]piece
	count  int
	// next is another layout with the same first piece.
	next *layout
	// entry has the values of the text, and only their fields mean something.
	entry Entry
	has   fieldsSeen
}

// piece is a key, the value of which differs, and the text behind the value: up
// to the next such value, or to the end of the line.
type piece struct {
	key  entryKey
	text string
}

// maxLayouts bounds the layouts with the same first piece, maxPieces the pieces of
// a layout.
const (
	maxLayouts = 4
	maxPieces  = 10
)

// layouts is what a decoder knows of layouts.
type layouts struct {
	// known has the layouts by their first piece of text.
	known recall.Table[layout]
	// end is what the first pieces end with, and last are the pieces of the layout
	// made last.
	end  string
	last []piece // from the end
	// members are those of the line that is read, from the first one that repeats
	// on.
	members []member
	seen    uint64 // the keys of the line
	warn    Warning
	// found are the layouts with the first piece of the line, none of which was
	// the line's.
	found *layout
	// off tells that nothing can be learnt from the line.
	off bool
}

// member is a member of a line that has been read.
type member struct {
	key               entryKey
	start, value, end int // of the text: the comma, the value, the end of that
}

// repeating are the keys whose values an operation has every time it runs.
const repeating uint64 = 1<<jsonOperation | 1<<jsonDeviceID | 1<<jsonInputShapes | 1<<jsonOutputShape |
	1<<jsonOutputElements | 1<<jsonMemoryBytes | 1<<jsonKind | 1<<jsonKindRule | 1<<jsonDType | 1<<jsonInputDTypes |
	1<<jsonPath | 1<<jsonSide | 1<<jsonStream | 1<<jsonRank | 1<<jsonFLOPs | 1<<jsonService | 1<<jsonScope

func repeats(k entryKey) bool { return repeating>>k&1 != 0 }

func (y *layouts) reset() {
	y.members, y.seen, y.warn, y.found, y.off = y.members[:0], 0, 0, nil, !y.known.Awake()
}

// recallLayout reads the rest of a line with a known layout, and reports whether
// it did. Otherwise the lexer stands where it did.
func (d *decoder) recallLayout() bool {
	l, y := &d.lex, &d.layouts
	if y.off || len(y.members) > 0 || d.order.Starting() || !repeats(entryKey(d.order.Guess())) {
		return false
	}
	found, size := y.find(l.Text(l.Pos(), l.Size()))
	if found == nil {
		return false
	}
	y.found = found
	start, step, warn, has := l.Mark(), d.entry.Step, d.entry.Warn, d.has
	for known := found; known != nil; known = known.next {
		d.entry = known.entry
		d.entry.Step = step
		d.entry.Warn |= warn
		d.has |= known.has
		l.Advance(size)
		if d.follow(known.pieces[:known.count]) {
			return true
		}
		l.Rewind(start)
		d.entry = Entry{Step: step, Warn: warn}
		d.has, d.fault = has, ""
	}
	return false
}

// find returns the layouts whose first piece rest starts with, and its length.
func (y *layouts) find(rest []byte) (found *layout, size int) {
	found, expected := y.known.Expected()
	if found != nil && bytes.HasPrefix(rest, expected) {
		y.known.Right()
		return found, len(expected)
	}
	if y.end == "" {
		return nil, 0
	}
	if size = bytes.Index(rest, []byte(y.end)); size < 0 {
		return nil, 0
	}
	size += len(y.end)
	return y.known.Find(rest[:size]), size
}

// follow reads the values in front of the pieces, and reports whether they are
// the rest of the line.
func (d *decoder) follow(pieces []piece) bool {
	l := &d.lex
	for i := range pieces {
		d.entryField(pieces[i].key)
		if !l.Accept(pieces[i].text) {
			return false
		}
	}
	return l.AtEnd() && l.Err() == nil && d.fault == ""
}

// readMember reads the value behind key, start being where the member before
// ended.
func (d *decoder) readMember(key entryKey, start int) {
	y := &d.layouts
	bit := uint64(1) << key
	// Of equal keys the last value counts, and in front of what repeats only the
	// step is kept.
	y.off = y.off || y.seen&bit != 0 || len(y.members) == 0 && !repeats(key) && key != jsonStep
	if y.off || key == jsonStep && len(y.members) == 0 {
		d.entryField(key)
		return
	}
	y.seen |= bit
	m := member{key: key, start: start, value: d.lex.Pos()}
	warn := d.entry.Warn
	d.entry.Warn = 0
	d.entryField(key)
	if repeats(key) {
		y.warn |= d.entry.Warn
	}
	d.entry.Warn |= warn
	m.end = d.lex.Pos()
	y.members = append(y.members, m)
}

// learnLayout keeps the layout of the line that has been read.
func (d *decoder) learnLayout() {
	y := &d.layouts
	if y.off || len(y.members) == 0 || y.values() > maxPieces {
		return
	}
	text, end := d.firstPiece()
	switch {
	case y.found != nil:
		last, n := y.found, 1
		for ; last.next != nil; n++ {
			last = last.next
		}
		if n < maxLayouts {
			last.next = new(layout)
			d.learn(last.next)
		}
	case y.known.Wants(text):
		d.learn(y.known.Add(text, layout{}))
	}
	y.end = end
}

// learn makes made the layout of the line that has been read.
func (d *decoder) learn(made *layout) {
	l, y := &d.lex, &d.layouts
	var e Entry
	made.has = d.has &^ (hasDuration | hasDurationNS)
	end := l.Size()
	for _, m := range slices.Backward(y.members) {
		if repeats(m.key) {
			copyField(&e, &d.entry, m.key)
		} else {
			made.pieces[made.count] = piece{key: m.key, text: y.shared(made.count, l.Text(m.end, end))}
			made.count++
			end = m.value
		}
	}
	y.last = append(y.last[:0], made.pieces[:made.count]...)
	slices.Reverse(made.pieces[:made.count])
	e.Warn = y.warn
	e.cloneTo(&made.entry)
}

// shared returns text as a string, which the n-th piece from the end of the layout
// made last has too where it can: most pieces are the same for all operations.
func (y *layouts) shared(n int, text []byte) string {
	if n < len(y.last) && y.last[n].text == string(text) {
		return y.last[n].text
	}
	return string(text)
}

// values returns how many members of the line differ.
func (y *layouts) values() (n int) {
	for _, m := range y.members {
		if !repeats(m.key) {
			n++
		}
	}
	return n
}

// firstPiece returns the text up to the first value that differs, and the key of
// that as the text that the piece ends with; nil without one.
func (d *decoder) firstPiece() (text []byte, end string) {
	for _, m := range d.layouts.members {
		if !repeats(m.key) {
			return d.lex.Text(d.layouts.members[0].start, m.value), d.strings.String(d.lex.Text(m.start, m.value))
		}
	}
	return nil, ""
}

// copyField copies the field behind a key that repeats.
func copyField(dst, src *Entry, k entryKey) {
	switch k {
	case jsonOperation:
		dst.Operation = src.Operation
	case jsonDeviceID:
		dst.DeviceID = src.DeviceID
	case jsonInputShapes:
		dst.InputShapes = src.InputShapes
	case jsonOutputShape:
		dst.OutputShape = src.OutputShape
	case jsonOutputElements:
		dst.OutputElements = src.OutputElements
	case jsonMemoryBytes:
		dst.MemoryBytes = src.MemoryBytes
	case jsonKind:
		dst.Kind = src.Kind
	case jsonKindRule:
		dst.KindRule = src.KindRule
	case jsonDType:
		dst.DType = src.DType
	case jsonInputDTypes:
		dst.InputDTypes = src.InputDTypes
	case jsonPath:
		dst.Path = src.Path
	case jsonSide:
		dst.Side = src.Side
	case jsonStream:
		dst.Stream = src.Stream
	case jsonRank:
		dst.Rank = src.Rank
	case jsonFLOPs:
		dst.FLOPs = src.FLOPs
	case jsonService:
		dst.Service = src.Service
	case jsonScope:
		dst.Scope = src.Scope
	}
}
