package parquet

import (
	"errors"
	"fmt"
	"io"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"

	"github.com/optrace/optrace/parquet/internal/rows"
)

// column reads the values of a column in a row group, page by page. A repetition level of 0 starts a new row; a
// larger one continues a list. The definition level counts the parts of the value's path that are present.
type column struct {
	leaf  *leaf
	chunk int // index among the chunks of a row group
	rows.Use
	leads bool // read stops at the end of a page
	batch *rows.Batch
	pages pages

	n, pos     int // number of values in the page, and of those read
	reps, defs numbers
	// A page has its own values or indexes into the dictionary.
	own           pageValues
	hasIndexes    bool
	indexes       numbers
	next          int // next index
	hasDictionary bool
	dictionary    []rows.Meaning
	held          int64 // bytes of the dictionary in the memory

	value rows.Value // the last one
	last  rows.Meaning
	cells []rows.Cell    // of the row
	kept  []rows.Meaning // values of cells that are not in the dictionary
}

// opened returns a copy of c that reads pages into rows of a batch.
func (c column) opened(p pages, b *rows.Batch) *column {
	c.pages = p
	c.batch = b
	c.reps.memory, c.defs.memory, c.indexes.memory, c.own.bits.memory = p.memory, p.memory, p.memory, p.memory
	return &c
}

func (c *column) start(g *rowGroup, size int64) error {
	c.n = 0
	c.pos = 0
	c.hasDictionary = false
	ch := &g.Columns[c.chunk]
	p := &c.pages
	p.codec = ch.Meta.Codec
	p.rows = g.Rows
	p.pos = ch.Meta.Data
	if 0 < ch.Meta.Dictionary && ch.Meta.Dictionary < p.pos { // some writers state 0 instead of no dictionary
		p.pos = ch.Meta.Dictionary
	}
	if ch.File != "" || p.pos < 0 || ch.Meta.Size < 0 || p.pos > size || ch.Meta.Size > size-p.pos {
		return fmt.Errorf("column %q: the values are not within the file", c.leaf.name())
	}
	p.end = p.pos + ch.Meta.Size
	return nil
}

// load reads pages until one has unread values. It returns io.EOF at the end of the chunk.
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
	n, err := c.defs.decodeLevels(pg.def, c.leaf.MaxDef, pg.values) // the number of values without nulls
	if err != nil {
		return err
	}
	switch c.hasIndexes = pg.encoding == format.RLEDictionary || pg.encoding == oldDictionary; {
	case !c.hasIndexes:
		err = c.own.decode(c.leaf, pg, n)
	case !c.hasDictionary:
		err = errors.New("page refers to a missing dictionary")
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

// oldDictionary is PLAIN_DICTIONARY. Old writers use it for dictionaries and for indexes.
const oldDictionary format.Encoding = 2

func (c *column) setDictionary(pg page) error {
	if c.hasDictionary {
		return errors.New("two dictionaries")
	}
	if pg.encoding != format.Plain && pg.encoding != oldDictionary {
		return fmt.Errorf("dictionary in encoding %d is not supported", pg.encoding)
	}
	if err := c.pages.memory.hold(&c.held,
		int64(pg.values)*int64(unsafe.Sizeof(rows.Meaning{}))+int64(len(pg.data))); err != nil {
		return err
	}
	pg.encoding = format.Plain
	if err := c.own.decode(c.leaf, pg, pg.values); err != nil {
		return err
	}
	c.hasDictionary = true
	c.dictionary = make([]rows.Meaning, pg.values)
	for i := range c.dictionary {
		c.translate(&c.dictionary[i])
	}
	return nil
}

// translate translates the next value of a page or dictionary.
func (c *column) translate(to *rows.Meaning) {
	c.own.next(c.leaf, &c.value)
	c.Translate(c.batch, &c.leaf.Form, &c.value, to)
}

// nextValue returns the next value that is not null. A value outside the dictionary is translated into room.
func (c *column) nextValue(room *rows.Meaning) (*rows.Meaning, error) {
	if !c.hasIndexes {
		*room = rows.Meaning{}
		c.translate(room)
		return room, nil
	}
	at := uint32(c.indexes.at(c.next))
	if at >= uint32(len(c.dictionary)) {
		return nil, fmt.Errorf("index %d in a dictionary of %d values", at, len(c.dictionary))
	}
	c.next++
	return &c.dictionary[at], nil
}

// nulls returns how many of the next n rows are null in front of all others. Definition level 0 is null unless it means
// an empty list.
func (c *column) nulls(n int) int {
	l := c.leaf
	if l.MaxDef == 0 || l.MaxRep > 0 && l.Lists[0] <= 1 {
		return 0
	}
	return min(c.defs.zeros(c.pos, n), c.reps.zeros(c.pos, n))
}

// read reads the column into rows and returns the number of rows read. After an error it skips the rest of the page.
func (c *column) read(rows []rows.Row) (n int, err error) {
	defer func() {
		if fault := recover(); fault != nil { // of the library
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
		switch nulls := c.nulls(k); {
		case nulls > 0:
			c.pos += nulls
			k = nulls
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

// readValues reads at most one value per row from the page.
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

// readCells reads the cells of one row.
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
			return errors.New("row starts within a list")
		case n > 0 && c.cells[0].Def < c.leaf.Lists[0]:
			return errors.New("elements in an empty list")
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
