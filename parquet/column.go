package parquet

import (
	"errors"
	"fmt"
	"io"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"

	"github.com/optrace/optrace/parquet/internal/rows"
)

// column reads the values of a column in a row group with their levels, page by
// page: the repetition level tells which list a value goes on with (0 is a new
// row), the definition level how much of the path to it is there.
type column struct {
	leaf  *leaf
	chunk int // its place among the chunks of a row group
	rows.Use
	leads bool // rows are not read past the end of its pages
	batch *rows.Batch
	pages pages

	n, pos     int // values of the page, and how many of them have been read
	reps, defs numbers
	// A page has values of its own, or indexes into the dictionary.
	own           pageValues
	hasIndexes    bool
	indexes       numbers
	next          int // of the indexes
	hasDictionary bool
	dictionary    []rows.Meaning
	held          int64 // what the budget knows of the dictionary

	last  rows.Meaning
	cells []rows.Cell    // of a row
	kept  []rows.Meaning // of cells, where they are no values of the dictionary
}

// opened returns a column that reads pages into rows of a batch.
func (c column) opened(p pages, b *rows.Batch) *column {
	c.pages, c.batch = p, b
	c.reps.budget, c.defs.budget, c.indexes.budget, c.own.bits.budget = p.budget, p.budget, p.budget, p.budget
	return &c
}

func (c *column) start(g *rowGroup, size int64) error {
	c.n, c.pos, c.hasDictionary = 0, 0, false
	ch, p := &g.Columns[c.chunk], &c.pages
	p.codec, p.rows = ch.Meta.Codec, g.Rows
	p.pos = ch.Meta.Data
	if 0 < ch.Meta.Dictionary && ch.Meta.Dictionary < p.pos { // some writers give 0 where there is none
		p.pos = ch.Meta.Dictionary
	}
	if ch.File != "" || p.pos < 0 || ch.Meta.Size < 0 || p.pos > size || ch.Meta.Size > size-p.pos {
		return fmt.Errorf("column %q: the values are not within the file", c.leaf.name())
	}
	p.end = p.pos + ch.Meta.Size
	return nil
}

// load makes sure that the page has values to read. It returns io.EOF at the end
// of the chunk.
func (c *column) load() error {
	for c.pos == c.n {
		pg, err := c.pages.next()
		if err == nil {
			err = c.setPage(pg)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *column) setPage(pg page) error {
	if pg.dictionary {
		return c.setDictionary(pg)
	}
	c.n, c.pos, c.next = 0, 0, 0
	if _, err := c.reps.decodeLevels(pg.rep, c.leaf.MaxRep, pg.values); err != nil {
		return err
	}
	n, err := c.defs.decodeLevels(pg.def, c.leaf.MaxDef, pg.values) // values that are not null
	if err != nil {
		return err
	}
	switch c.hasIndexes = pg.encoding == format.RLEDictionary || pg.encoding == oldDictionary; {
	case !c.hasIndexes:
		err = c.own.decode(c.leaf, pg, n)
	case !c.hasDictionary:
		err = errors.New("page refers to a dictionary that is missing")
	case n > 0 && len(pg.data) == 0:
		err = errShortPage
	case n > 0:
		err = c.indexes.decode(pg.data[1:], int(pg.data[0]), n)
	}
	if err == nil {
		c.n = pg.values
	}
	return err
}

// oldDictionary is PLAIN_DICTIONARY, which old writers use for dictionaries and for indexes
// into them.
const oldDictionary format.Encoding = 2

func (c *column) setDictionary(pg page) error {
	if c.hasDictionary {
		return errors.New("two dictionaries")
	}
	if pg.encoding != format.Plain && pg.encoding != oldDictionary {
		return fmt.Errorf("dictionary in encoding %d is not supported", pg.encoding)
	}
	if err := c.pages.budget.hold(&c.held, int64(pg.values)*int64(unsafe.Sizeof(rows.Meaning{}))+int64(len(pg.data))); err != nil {
		return err
	}
	pg.encoding = format.Plain
	if err := c.own.decode(c.leaf, pg, pg.values); err != nil {
		return err
	}
	c.hasDictionary = true
	c.dictionary = make([]rows.Meaning, pg.values)
	for i := range c.dictionary {
		c.Translate(c.batch, &c.leaf.Form, c.own.next(c.leaf), &c.dictionary[i])
	}
	return nil
}

// nextValue returns the next value that is not null. One that is not of the dictionary is
// translated into room.
func (c *column) nextValue(room *rows.Meaning) (*rows.Meaning, error) {
	if !c.hasIndexes {
		*room = rows.Meaning{}
		c.Translate(c.batch, &c.leaf.Form, c.own.next(c.leaf), room)
		return room, nil
	}
	at := uint32(c.indexes.at(c.next))
	if at >= uint32(len(c.dictionary)) {
		return nil, fmt.Errorf("index %d in a dictionary of %d values", at, len(c.dictionary))
	}
	c.next++
	return &c.dictionary[at], nil
}

// allNull reports whether the page holds nothing but rows that are null: at definition
// level 0, where that makes no empty list.
func (c *column) allNull() bool {
	l := c.leaf
	return c.defs.are(0) && c.reps.are(0) && l.MaxDef > 0 && (l.MaxRep == 0 || l.Lists[0] > 1)
}

// read reads the column into rows, and returns how many of them it has read. It leaves
// the rest of a page that is damaged.
func (c *column) read(rows []rows.Row) (n int, err error) {
	defer func() {
		if fault := recover(); fault != nil { // of a library
			err = fmt.Errorf("damaged page: %v", fault)
		}
		if err == io.EOF {
			err = errors.New("fewer values than the row group has rows")
		}
		if err != nil {
			err = fmt.Errorf("column %q: %w", c.leaf.name(), err)
		}
	}()
	for n < len(rows) && !(c.leads && n > 0 && c.pos == c.n) {
		if err := c.load(); err != nil {
			return n, err
		}
		k := min(c.n-c.pos, len(rows)-n)
		switch {
		case c.allNull():
			c.pos += k
		case c.Set != nil:
			if i, err := c.readValues(rows[n : n+k]); err != nil {
				return n + i, err
			}
		default:
			if err := c.readCells(); err != nil {
				return n, err
			}
			c.List(&rows[n], c.cells)
			k = 1
		}
		n += k
	}
	return n, nil
}

// readValues reads values of the page, one or none per row.
func (c *column) readValues(rows []rows.Row) (n int, err error) {
	for i := range rows {
		if c.defs.at(c.pos) == c.leaf.MaxDef {
			v, err := c.nextValue(&c.last)
			if err != nil {
				return i, err
			}
			c.SetValue(&rows[i], v)
		}
		c.pos++
	}
	return len(rows), nil
}

// readCells reads a row.
func (c *column) readCells() (err error) {
	c.cells, c.kept = c.cells[:0], c.kept[:0]
	for n := 0; n == 0 || c.leaf.MaxRep > 0; n++ {
		if c.pos == c.n {
			if err := c.load(); err == io.EOF && n > 0 {
				return nil
			} else if err != nil {
				return err
			}
		}
		p := rows.Cell{Rep: c.reps.at(c.pos), Def: c.defs.at(c.pos)}
		switch {
		case n > 0 && p.Rep == 0:
			return nil
		case n == 0 && p.Rep > 0:
			return errors.New("row that starts within a list")
		case n > 0 && c.cells[0].Def < c.leaf.Lists[0]:
			return errors.New("elements of a list that has none")
		case n == maxRowValues:
			return fmt.Errorf("row of more than %d values", maxRowValues)
		}
		c.pos++
		if p.Def == c.leaf.MaxDef {
			room := &c.last
			if !c.hasIndexes && n < rows.MaxCells {
				c.kept = append(c.kept, rows.Meaning{})
				room = &c.kept[len(c.kept)-1]
			}
			if p.Value, err = c.nextValue(room); err != nil {
				return err
			}
		}
		if n < rows.MaxCells {
			c.cells = append(c.cells, p)
		}
	}
	return nil
}
