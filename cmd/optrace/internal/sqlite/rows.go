package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

const (
	maxRowBytes = 1 << 20
	maxDepth    = 20 // as in SQLite
	interior    = 5
	leaf        = 13
)

// Kind is the kind of a value.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Integer
	Real
	Text
	Blob
)

func (k Kind) String() string {
	return [...]string{"null", "an integer", "a floating-point number", "text", "a blob"}[k]
}

// Value is a stored value of a row: a whole number in a column of type REAL is an integer. Text is valid until the next
// row.
type Value struct {
	Kind Kind
	Int  int64
	Text []byte
}

// Number returns the value of an integer.
func (v Value) Number() (n int64, ok bool) { return v.Int, v.Kind == Integer }

// Rows returns the values of columns in each row of a table, in the order of its pages. A missing column is null, and
// so is a column added with a default value after the row was written.
//
// A *[DamageError] is an unreadable page or row, and reading goes on; any other error is the last value. A missing
// table has no rows. The values are valid until the next row.
func (d *Database) Rows(table string, columns ...string) iter.Seq2[[]Value, error] {
	return func(yield func([]Value, error) bool) {
		t, ok := d.tables[table]
		if !ok {
			return
		}
		names, rowid := columnsOf(t.sql)
		w := &walk{Database: d, yield: yield, values: make([]Value, len(columns)), rowid: -1}
		for i, name := range columns {
			at := slices.Index(names, name)
			if at < 0 || name == "" {
				continue
			}
			for len(w.slots) <= at {
				w.slots = append(w.slots, -1)
			}
			if w.slots[at] = i; at == rowid {
				w.rowid = i
			}
		}
		w.tree(t.root, 0)
	}
}

type walk struct {
	*Database
	yield   func([]Value, error) bool
	slots   []int // the index in values by column of a row, -1 for an unwanted column
	rowid   int   // the index of the row id in values, -1 if unwanted
	values  []Value
	levels  [maxDepth + 1][]byte
	row     []byte // a row with overflow pages
	further []byte // an overflow page
	visited int64
}

// read reads page n into buf. It fails once a table has visited more pages than there are.
func (w *walk) read(n int64, buf []byte) error {
	if n < 1 || n > w.pages {
		return &DamageError{n, fmt.Sprintf("the database has %d", w.pages)}
	}
	if w.visited++; w.visited > w.pages {
		return errors.New("pages refer to each other")
	}
	_, err := w.src.ReadAt(buf, (n-1)*int64(w.page))
	if errors.Is(err, io.EOF) {
		err = &DamageError{n, "cut off"}
	}
	return err
}

func (w *walk) fail(err error) bool {
	_, damaged := err.(*DamageError) //nolint:errorlint // it is not wrapped
	return w.yield(nil, err) && damaged
}

func (w *walk) tree(n int64, depth int) bool {
	if depth > maxDepth {
		return w.fail(&DamageError{n, "too deep"})
	}
	if w.levels[depth] == nil {
		w.levels[depth] = make([]byte, w.page)
	}
	all := w.levels[depth]
	if err := w.read(n, all); err != nil {
		return w.fail(err)
	}
	head := all
	if n == schemaRoot {
		head = all[headerBytes:]
	}
	page := all[:w.usable]
	cells := int(binary.BigEndian.Uint16(head[3:]))
	size := 8
	switch head[0] {
	case interior:
		size = 12
	case leaf:
	default:
		return w.fail(&DamageError{n, fmt.Sprintf("is of kind %d, and no part of a table with numbered rows", head[0])})
	}
	if size+2*cells > len(head) {
		return w.fail(&DamageError{n, fmt.Sprintf("%d cells", cells)})
	}
	for places := head[size:][:2*cells]; len(places) > 0; places = places[2:] {
		at := int(binary.BigEndian.Uint16(places))
		if at+4 > len(page) {
			if !w.fail(&DamageError{n, fmt.Sprintf("a cell at %d", at)}) {
				return false
			}
			continue
		}
		if head[0] == interior {
			if !w.tree(int64(binary.BigEndian.Uint32(page[at:])), depth+1) {
				return false
			}
			continue
		}
		err := w.leafRow(n, page[at:])
		if err == nil && !w.yield(w.values, nil) || err != nil && !w.fail(err) {
			return false
		}
	}
	return head[0] == leaf || w.tree(int64(binary.BigEndian.Uint32(head[8:])), depth+1)
}

func (w *walk) leafRow(n int64, cell []byte) error {
	size, a := varint(cell)
	rowid, b := varint(cell[a:])
	cell = cell[a+b:]
	if size > maxRowBytes {
		return &DamageError{n, fmt.Sprintf("a row of %d bytes", size)}
	}
	row, err := w.whole(n, cell, int(size))
	if err == nil && !w.decode(row) {
		err = &DamageError{n, "a row with values that it has no room for"}
	}
	if err == nil && w.rowid >= 0 && w.values[w.rowid].Kind == Null {
		w.values[w.rowid] = Value{Kind: Integer, Int: int64(rowid)}
	}
	return err
}

// whole returns the size bytes of a row, from the cell and its overflow pages.
func (w *walk) whole(n int64, cell []byte, size int) ([]byte, error) {
	local := size
	rest := w.usable - 4
	if size > w.usable-35 {
		least := (w.usable-12)*32/255 - 23
		if local = least + (size-least)%rest; local > w.usable-35 {
			local = least
		}
	}
	if local == size && size <= len(cell) {
		return cell[:size], nil
	}
	if local+4 > len(cell) {
		return nil, &DamageError{n, "a row that goes beyond it"}
	}
	w.row = append(w.row[:0], cell[:local]...)
	next := int64(binary.BigEndian.Uint32(cell[local:]))
	for len(w.row) < size {
		if w.further == nil {
			w.further = make([]byte, w.page)
		}
		if err := w.read(next, w.further); err != nil {
			return nil, err
		}
		next = int64(binary.BigEndian.Uint32(w.further)) // its successor
		w.row = append(w.row, w.further[4:][:min(size-len(w.row), rest)]...)
	}
	return w.row, nil
}

func (w *walk) decode(row []byte) bool {
	clear(w.values)
	header, n := varint(row)
	if header > uint64(len(row)) || header < uint64(n) {
		return false
	}
	types := row[n:header]
	body := row[header:]
	for _, slot := range w.slots {
		if len(types) == 0 {
			break // columns added later
		}
		kind, n := varint(types)
		types = types[n:]
		size := sizeOf(kind)
		if size > uint64(len(body)) {
			return false
		}
		if slot >= 0 {
			w.values[slot] = valueOf(kind, body[:size])
		}
		body = body[size:]
	}
	return true
}

func sizeOf(kind uint64) uint64 {
	if kind >= 12 {
		return (kind - 12) / 2
	}
	return uint64([12]uint8{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0}[kind])
}

func valueOf(kind uint64, b []byte) Value {
	switch {
	case kind >= 12 && kind%2 == 0:
		return Value{Kind: Blob, Text: b}
	case kind >= 12:
		return Value{Kind: Text, Text: b}
	case kind == 0 || kind > 9:
		return Value{}
	case kind == 7:
		return Value{Kind: Real}
	case kind >= 8:
		return Value{Kind: Integer, Int: int64(kind - 8)}
	}
	n := int64(int8(b[0]))
	for _, c := range b[1:] {
		n = n<<8 | int64(c)
	}
	return Value{Kind: Integer, Int: n}
}

// varint returns the number at the start of b and its length. A truncated number is larger than any valid one.
func varint(b []byte) (v uint64, n int) {
	for i, c := range b {
		if i == 8 {
			return v<<8 | uint64(c), 9
		}
		if v = v<<7 | uint64(c&0x7f); c < 0x80 {
			return v, i + 1
		}
	}
	return 1<<63 - 1, len(b)
}
