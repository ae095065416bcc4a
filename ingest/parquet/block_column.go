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
// codes of a dictionary of the file are its indexes, and 1 more. The values of a page
// without a dictionary have the codes behind those, in each window others.
type valueColumn[T any] struct {
	*column // nil where the file has none
	translator[T]

	codes    [windowRows]uint32
	values   []T // of the codes; the first is that of null
	warnings []op.Warning
	encoded  int // how many of the values are those of the dictionary and of null
	version  int64
}

// newValueColumn returns the column of a field.
func newValueColumn[T any](b *block, name string, t translate[T]) *valueColumn[T] {
	c := &valueColumn[T]{translator: translator[T]{translate: t}}
	c.forget()
	if l := b.leafOf(name); l != nil {
		c.column = b.newColumn(l)
		b.windowed = append(b.windowed, boundColumn{c, b.chunkOf(name)})
	}
	return c
}

// forget leaves the value of null alone.
func (c *valueColumn[T]) forget() {
	var null T
	c.values, c.warnings = append(c.values[:0], null), append(c.warnings[:0], 0)
	c.encoded = 1
	c.version++
}

// load implements windowColumn.
func (c *valueColumn[T]) load(n int, unusual *[windowWords]uint64) error {
	if len(c.values) > c.encoded {
		c.values, c.warnings = c.values[:c.encoded], c.warnings[:c.encoded]
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
	if c.allNull() {
		clear(codes)
		return nil
	}
	defs := c.defs.list
	if defs != nil {
		defs = defs[c.pos : c.pos+len(codes)]
	}
	for i := range codes {
		if defs != nil && defs[i] < c.leaf.maxDef {
			codes[i] = 0
			continue
		}
		if !c.hasIndexes {
			m, err := c.translator.next(c.column)
			if err != nil {
				return err
			}
			codes[i] = c.add(m)
			continue
		}
		if c.column.next >= c.indexes.n {
			return errShortPage
		}
		index := uint32(c.indexes.at(c.column.next))
		c.column.next++
		if int64(index) >= int64(len(c.translator.dictionary)) {
			return fmt.Errorf("index %d in a dictionary of %d values", index, len(c.translator.dictionary))
		}
		codes[i] = index + 1
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
	c.values, c.warnings = append(c.values, v), append(c.warnings, m.warning)
	return uint32(len(c.values) - 1)
}

// shown returns the column of the window.
func (c *valueColumn[T]) shown() op.Column[T] {
	return op.Column[T]{Codes: c.codes[:], Values: c.values, Version: c.version}
}

// exceptional is a column whose values make a row one that is handed out as an entry.
type exceptional struct{ *column }

// load implements windowColumn.
func (e exceptional) load(n int, unusual *[windowWords]uint64) error { return e.present(n, unusual) }
