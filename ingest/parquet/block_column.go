package parquet

import (
	"errors"
	"fmt"

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

	codes    [windowRows]uint32
	values   []T // of the codes
	warnings []op.Warning
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
			b.fills[i] = c.fill
		}
	}
	c.forget()
	return c
}

// forget leaves the values of null alone.
func (c *valueColumn[T]) forget() {
	c.cut(0)
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
	for i, code := range c.codes[:n] {
		if c.warnings[code] != 0 {
			unusual[i/64] |= 1 << (i % 64)
		}
	}
	return nil
}

// read sets the codes of rows of the page.
func (c *valueColumn[T]) read(codes []uint32) error {
	if c.defs.list == nil && c.defs.value == c.leaf.maxDef {
		return c.readValues(codes)
	}
	next := c.notNull(len(codes))
	if err := c.readValues(codes[:next]); err != nil {
		return err
	}
	for i := len(codes) - 1; i >= 0; i-- { // the values move to their rows
		switch def := c.defs.at(c.pos + i); {
		case def == c.leaf.maxDef:
			next--
			codes[i] = codes[next]
		case def > 0:
			codes[i] = 1
		default:
			codes[i] = 0
		}
	}
	return nil
}

// readValues sets the codes of the next values of the page that are not null.
func (c *valueColumn[T]) readValues(codes []uint32) error {
	first := c.column.next
	c.column.next += len(codes)
	switch {
	case !c.hasIndexes && c.column.next > c.own.n:
		return c.own.err
	case !c.hasIndexes:
		for i := range codes {
			v, warning, ok := c.translate(c.column, c.own.at(first+i))
			codes[i] = c.add(&meaning[T]{v, warning, ok})
		}
		return nil
	case c.column.next > c.indexes.n:
		return errShortPage
	}
	nulls, size := uint32(c.nulls), uint32(len(c.translator.dictionary))
	for i := range codes {
		index := uint32(c.indexes.at(first + i))
		if index >= size {
			return fmt.Errorf("index %d in a dictionary of %d values", index, size)
		}
		codes[i] = index + nulls
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
	c.values, c.warnings, c.known = append(c.values, v), append(c.warnings, m.warning), append(c.known, m.ok)
	return uint32(len(c.values) - 1)
}

// cut leaves the first n values.
func (c *valueColumn[T]) cut(n int) {
	c.values, c.warnings, c.known = c.values[:n], c.warnings[:n], c.known[:n]
}

// fill does what the reader of rows does, for the rows of the window.
func (c *valueColumn[T]) fill(list []rows.Row) bool {
	for i := range list {
		code := c.codes[i]
		if c.known[code] {
			c.set(&list[i], c.values[code])
		}
		list[i].Warn |= c.warnings[code]
	}
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
