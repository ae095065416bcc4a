package parquet

import (
	"errors"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/op"
)

// windowRows is how many rows are read column by column.
const (
	windowRows  = rows.Size
	windowWords = windowRows / 64
)

// windowColumn is a column of which each window is read.
type windowColumn interface {
	// start turns to the chunk of a row group.
	start(ch *columnChunk, rows int64)
	// load reads the next n rows, and marks those that are not to be handed out in
	// columns.
	load(n int, unusual *[windowWords]uint64) error
}

// valueColumn is a column of one value per row, dictionary-encoded as in op.Column. The
// first code is that of null and, in a group, the second that of null where the group is
// there. The indexes of a dictionary of the file follow. The values of a page without a
// dictionary have the codes behind those, in each window others.
type valueColumn[T any] struct {
	*column // nil where the file has none
	translator[T]
	set func(*rows.Row, T) // nil where rows have the value in another form
	// addAll adds values of the page, from the one with a number on, and sets their codes.
	// It is nil where each is to be translated, and reports false where one of them is.
	addAll func(codes []uint32, first int) bool

	codes    [windowRows]uint32
	values   []T // of the codes
	warnings []op.Warning
	warned   bool   // whether there may be warnings
	known    []bool // of the codes: false for null and what means nothing
	nulls    int    // how many of the values are those of null
	encoded  int    // how many are those of null and of the dictionary
	version  int64
}

// newValueColumn returns the column of a field.
func newValueColumn[T any](b *block, name string, t translate[T]) *valueColumn[T] {
	c := &valueColumn[T]{translator: translator[T]{translate: t}, nulls: 1}
	if i := b.place(name); i >= 0 {
		c.column = b.newColumn(&b.leaves[b.bound[i].leaf])
		if c.leaf.maxDef > 1 {
			c.nulls = 2
		}
		b.windowed = append(b.windowed, boundColumn{c, b.bound[i].leaf})
		if s, ok := b.readers[i].reader.(*single[T]); ok {
			c.set = s.set
			b.byReader[i].fill = c.fill
		}
	}
	c.forget()
	return c
}

// newIntegerColumn returns the column of a field of integers that are least or more.
func newIntegerColumn(b *block, name string, least int64, t translate[op.Int]) *valueColumn[op.Int] {
	c := newValueColumn(b, name, t)
	if c.column == nil || !c.leaf.isInt64() {
		return c
	}
	c.addAll = func(codes []uint32, first int) bool {
		var list [windowRows]int64
		from, to := len(c.values), len(c.values)+len(codes)
		c.own.integers(list[:len(codes)], first)
		c.values = slices.Grow(c.values, len(codes))
		for i, n := range list[:len(codes)] {
			if n < least {
				return false
			}
			c.values[:to][from+i] = op.Known(n)
			codes[i] = uint32(from + i)
		}
		c.values = c.values[:to]
		c.warnings = slices.Grow(c.warnings, len(codes))[:to]
		clear(c.warnings[from:])
		c.known = slices.Grow(c.known, len(codes))[:to]
		setAll(c.known[from:], true)
		return true
	}
	return c
}

// newFlagColumn returns the column of a field of flags.
func newFlagColumn(b *block, name string) *valueColumn[bool] {
	c := newValueColumn(b, name, flag)
	if c.column == nil || c.leaf.typ != format.Boolean {
		return c
	}
	c.addAll = func(codes []uint32, first int) bool {
		no, yes := c.add(&meaning[bool]{v: false, ok: true}), c.add(&meaning[bool]{v: true, ok: true})
		for i := range codes {
			if codes[i] = no; c.own.at(first+i).i != 0 {
				codes[i] = yes
			}
		}
		return true
	}
	return c
}

// forget leaves the values of null alone.
func (c *valueColumn[T]) forget() {
	c.cut(0)
	c.warned = false
	for range c.nulls {
		c.add(&meaning[T]{})
	}
	c.encoded = c.nulls
	c.version++
}

// load implements windowColumn.
func (c *valueColumn[T]) load(n int, unusual *[windowWords]uint64) error {
	if len(c.values) > c.encoded {
		c.cut(c.encoded)
		c.version++
	}
	for at := 0; at < n; {
		if err := c.column.load(); err != nil {
			return c.wrap(err)
		}
		if c.hasDictionary && c.number != c.dictionaries {
			if at > 0 {
				return c.wrap(errors.New("dictionary behind values"))
			}
			c.encode()
		}
		k := min(c.n-c.pos, n-at)
		if err := c.read(c.codes[at : at+k]); err != nil {
			return c.wrap(err)
		}
		c.pos += k
		at += k
	}
	if c.warned {
		for i, code := range c.codes[:n] {
			if c.warnings[code] != 0 {
				unusual[i/64] |= 1 << (i % 64)
			}
		}
	}
	return nil
}

// read sets the codes of rows of the page.
func (c *valueColumn[T]) read(codes []uint32) error {
	if c.defs.list == nil {
		if c.defs.value == c.leaf.maxDef {
			return c.readValues(codes)
		}
		setAll(codes, codeOfNull(c.defs.value))
		return nil
	}
	next := c.notNull(len(codes))
	if err := c.readValues(codes[:next]); err != nil {
		return err
	}
	if next == len(codes) {
		return nil
	}
	defs := c.defs.list[c.pos : c.pos+len(codes)]
	for i := len(codes) - 1; i >= 0; i-- { // the values move to their rows
		if defs[i] == c.leaf.maxDef {
			next--
			codes[i] = codes[next]
		} else {
			codes[i] = codeOfNull(defs[i])
		}
	}
	return nil
}

// codeOfNull returns the code of null at a definition level.
func codeOfNull(def int32) uint32 { return uint32(min(def, 1)) }

// readValues sets the codes of the next values of the page that are not null.
func (c *valueColumn[T]) readValues(codes []uint32) error {
	first := c.column.next
	c.column.next += len(codes)
	switch {
	case !c.hasIndexes && c.column.next > c.own.n:
		return c.own.err
	case !c.hasIndexes:
		if c.addAll == nil || !c.addAll(codes, first) {
			for i := range codes {
				v, warning, ok := c.translate(c.column, c.own.at(first+i))
				codes[i] = c.add(&meaning[T]{v, warning, ok})
			}
		}
		return nil
	case c.column.next > c.indexes.n:
		return errShortPage
	}
	nulls, size := uint32(c.nulls), uint32(len(c.translator.dictionary))
	if c.indexes.list == nil { // all are equal
		index := uint32(c.indexes.value)
		if index >= size && len(codes) > 0 {
			return fmt.Errorf("index %d in a dictionary of %d values", index, size)
		}
		setAll(codes, index+nulls)
		return nil
	}
	for i, index := range c.indexes.list[first:c.column.next] {
		if uint32(index) >= size {
			return fmt.Errorf("index %d in a dictionary of %d values", uint32(index), size)
		}
		codes[i] = uint32(index) + nulls
	}
	return nil
}

// encode makes the values those of the dictionary.
func (c *valueColumn[T]) encode() {
	c.forget()
	c.translateAll(c.column)
	for i := range c.translator.dictionary {
		c.add(&c.translator.dictionary[i])
	}
	c.encoded = len(c.values)
}

// add adds a value, and returns its code.
func (c *valueColumn[T]) add(m *meaning[T]) uint32 {
	var v T
	if m.ok {
		v = m.v
	}
	c.warned = c.warned || m.warning != 0
	c.values, c.warnings, c.known = append(c.values, v), append(c.warnings, m.warning), append(c.known, m.ok)
	return uint32(len(c.values) - 1)
}

// cut leaves the first n values.
func (c *valueColumn[T]) cut(n int) {
	c.values, c.warnings, c.known = c.values[:n], c.warnings[:n], c.known[:n]
}

// fill does what the reader of rows does, for a row of the window.
func (c *valueColumn[T]) fill(r *rows.Row, i int) bool {
	code := c.codes[i]
	if c.known[code] {
		c.set(r, c.values[code])
	}
	r.Warn |= c.warnings[code]
	return true
}

// at returns the value of a row of the window.
func (c *valueColumn[T]) at(i int) T { return c.values[c.codes[i]] }

// shown returns the column of the window.
func (c *valueColumn[T]) shown() op.Column[T] {
	return op.Column[T]{Codes: c.codes[:], Values: c.values, Version: c.version}
}

// exceptional is a column whose values make a row one that is handed out as an entry.
type exceptional struct{ *column }

// load implements windowColumn.
func (e exceptional) load(n int, unusual *[windowWords]uint64) error { return e.present(n, unusual) }
