package parquet

import (
	"errors"
	"fmt"
	"io"
	"unsafe"

	lib "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/internal/intern"
	"github.com/optrace/optrace/op"
)

// column reads the values of a column in a row group with their levels, page by
// page: the repetition level tells which list a value goes on with (0 is a new
// row), the definition level how much of the path to it is there.
type column struct {
	leaf  *leaf
	chunk int // its place among the chunks of a row group
	pages pages
	shared
	use
	leads bool // rows are not read past the end of its pages

	n, pos     int // values of the page, and how many of them have been read
	reps, defs numbers
	// A page has values of its own, or indexes into the dictionary.
	own           pageValues
	hasIndexes    bool
	indexes       numbers
	next          int // of the indexes
	hasDictionary bool
	dictionary    []value
	held          int64 // what the budget knows of the dictionary

	last  value
	cells []cell  // of a row
	kept  []value // of cells, where they are no values of the dictionary
}

// shared is what the columns of a file share.
type shared struct {
	strings *intern.Table
	texts   *op.Builder // reads shapes that are kept as text
}

// use is what the values of a column are used for.
type use struct {
	translate func(c *column, v lib.Value, to *value)
	// set takes a value of a row that has one or none, and list all cells of a row.
	// One of them is not nil.
	set  func(r *rows.Row, v *value)
	list func(c *column, r *rows.Row, cells []cell)
}

// cell is a place of a row in a column, at a repetition and a definition level. v is
// nil where there is no value.
type cell struct {
	rep, def int32
	v        *value
}

func newColumn(l *leaf, p pages, s shared) *column {
	n := numbers{budget: p.budget}
	return &column{leaf: l, pages: p, shared: s, reps: n, defs: n, indexes: n, own: pageValues{bits: n}}
}

// start turns to the chunk of a row group.
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

// setPage turns to a page.
func (c *column) setPage(pg page) error {
	if pg.dictionary {
		return c.setDictionary(pg)
	}
	c.n, c.pos, c.next = 0, 0, 0
	if _, err := c.reps.decodeLevels(pg.rep, c.leaf.maxRep, pg.values); err != nil {
		return err
	}
	n, err := c.defs.decodeLevels(pg.def, c.leaf.maxDef, pg.values) // values that are not null
	if err != nil {
		return err
	}
	switch c.hasIndexes = pg.encoding == format.RLEDictionary || pg.encoding == format.PlainDictionary; {
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

// setDictionary translates the values of a dictionary.
func (c *column) setDictionary(pg page) error {
	if c.hasDictionary {
		return errors.New("two dictionaries")
	}
	if pg.encoding != format.Plain && pg.encoding != format.PlainDictionary {
		return fmt.Errorf("dictionary in encoding %d is not supported", pg.encoding)
	}
	if err := c.pages.budget.hold(&c.held, int64(pg.values)*int64(unsafe.Sizeof(value{}))+int64(len(pg.data))); err != nil {
		return err
	}
	pg.encoding = format.Plain
	if err := c.own.decode(c.leaf, pg, pg.values); err != nil {
		return err
	}
	c.hasDictionary = true
	c.dictionary = make([]value, pg.values)
	for i := range c.dictionary {
		c.translate(c, c.own.next(), &c.dictionary[i])
	}
	return nil
}

// nextValue returns the next value that is not null. One that is not of the dictionary is
// translated into room.
func (c *column) nextValue(room *value) (*value, error) {
	if !c.hasIndexes {
		*room = value{}
		c.translate(c, c.own.next(), room)
		return room, nil
	}
	at := uint32(c.indexes.at(c.next))
	if at >= uint32(len(c.dictionary)) {
		return nil, fmt.Errorf("index %d in a dictionary of %d values", at, len(c.dictionary))
	}
	c.next++
	return &c.dictionary[at], nil
}

// allNull reports whether the page holds nothing but rows that are null.
func (c *column) allNull() bool {
	return c.defs.list == nil && c.defs.value == 0 && c.reps.list == nil && c.reps.value == 0 && c.leaf.nullable()
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
		case c.set != nil:
			if i, err := c.readValues(rows[n : n+k]); err != nil {
				return n + i, err
			}
		default:
			if err := c.readCells(); err != nil {
				return n, err
			}
			c.list(c, &rows[n], c.cells)
			k = 1
		}
		n += k
	}
	return n, nil
}

// readValues reads values of the page, one or none per row.
func (c *column) readValues(rows []rows.Row) (n int, err error) {
	for i := range rows {
		if c.defs.at(c.pos) == c.leaf.maxDef {
			v, err := c.nextValue(&c.last)
			if err != nil {
				return i, err
			}
			if v.ok {
				c.set(&rows[i], v)
			}
			rows[i].Warn |= v.warning
		}
		c.pos++
	}
	return len(rows), nil
}

// maxCells is how many cells of a row are looked at.
const maxCells = op.MaxInputs * op.MaxRank

// readCells reads a row.
func (c *column) readCells() (err error) {
	c.cells, c.kept = c.cells[:0], c.kept[:0]
	for n := 0; n == 0 || c.leaf.maxRep > 0; n++ {
		if c.pos == c.n {
			if err := c.load(); err == io.EOF && n > 0 {
				return nil
			} else if err != nil {
				return err
			}
		}
		p := cell{rep: c.reps.at(c.pos), def: c.defs.at(c.pos)}
		switch {
		case n > 0 && p.rep == 0:
			return nil
		case n == 0 && p.rep > 0:
			return errors.New("row that starts within a list")
		case n > 0 && c.cells[0].def < c.leaf.lists[0]:
			return errors.New("elements of a list that has none")
		case n == MaxRowValues:
			return fmt.Errorf("row of more than %d values", MaxRowValues)
		}
		c.pos++
		if p.def == c.leaf.maxDef {
			room := &c.last
			if !c.hasIndexes && n < maxCells {
				c.kept = append(c.kept, value{})
				room = &c.kept[len(c.kept)-1]
			}
			if p.v, err = c.nextValue(room); err != nil {
				return err
			}
		}
		if n < maxCells {
			c.cells = append(c.cells, p)
		}
	}
	return nil
}
