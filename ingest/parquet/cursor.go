package parquet

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// cursor walks over the values of a column in a row group, with their levels:
// the repetition level tells which list the value goes on with (0 is a new
// row), the definition level how much of the path to it is there.
type cursor struct {
	leaf       *leaf
	pages      pages
	values     decoder
	dictionary []value
	dictHeld   int64 // what the budget knows of the dictionary

	rep, def hybrid
	left     int // how many values the page has left

	// nextRep and nextDef are the levels of the next value, where loaded is set.
	nextRep, nextDef int
	loaded           bool

	// nullable is what the leaf says.
	nullable bool
	// inRow counts the values of the current row.
	inRow int
}

// start turns to the column's chunk of a row group.
func (c *cursor) start(ch chunk) error {
	c.left, c.loaded = 0, false
	c.def = hybrid{}
	c.dictionary = nil
	c.pages.start(ch)
	err := c.pages.budget.add(-c.dictHeld)
	c.dictHeld = 0
	return err
}

// newRow is the repetition level of the first value of a row.
const newRow = 0

// peek reports whether there is another value, and its levels.
func (c *cursor) peek() (ok bool, err error) {
	if c.loaded {
		return true, nil
	}
	for c.left == 0 {
		if err := c.nextPage(); err != nil {
			if err == io.EOF {
				return false, nil
			}
			return false, err
		}
	}
	c.left--
	c.nextRep, c.nextDef = 0, c.leaf.maxDef
	if c.leaf.maxRep > 0 {
		rep, err := c.rep.next()
		if err != nil {
			return false, err
		}
		c.nextRep = int(rep)
	}
	if c.leaf.maxDef > 0 {
		def, err := c.def.next()
		if err != nil {
			return false, err
		}
		c.nextDef = int(def)
	}
	if c.nextRep > c.leaf.maxRep || c.nextDef > c.leaf.maxDef {
		return false, errors.New("level that the column does not have")
	}
	c.loaded = true
	return true, nil
}

// take returns the value that peek announced, nil where it is missing from its
// definition level on. It is valid until the next call of peek.
func (c *cursor) take() (*value, error) {
	c.loaded = false
	if c.nextDef < c.leaf.maxDef {
		return nil, nil
	}
	return c.values.read(c.dictionary)
}

// nextPage reads the next page of values.
func (c *cursor) nextPage() error {
	for {
		pg, err := c.pages.next()
		if err != nil {
			return err
		}
		if pg.dictionary {
			if err := c.readDictionary(pg); err != nil {
				return err
			}
			continue
		}
		c.rep.reset(pg.rep, bits.Len(uint(c.leaf.maxRep)))
		c.def.reset(pg.def, bits.Len(uint(c.leaf.maxDef)))
		c.left = pg.values
		return c.values.reset(pg, c.dictionary)
	}
}

func (c *cursor) readDictionary(pg page) error {
	if c.dictionary != nil {
		return errors.New("two dictionaries")
	}
	held := int64(pg.values)*bytesPerValue + int64(len(pg.data))
	if err := c.pages.budget.add(held); err != nil {
		return err
	}
	c.dictHeld = held
	var err error
	c.dictionary, err = readDictionary(c.leaf, pg)
	return err
}

// nullRows passes over the following rows that are null, where that can be told
// without reading each, and returns how many they are: a column that is empty
// costs next to nothing.
func (c *cursor) nullRows() int {
	n := c.def.equal(0)
	if n == 0 || c.loaded || !c.nullable {
		return 0
	}
	n = min(n, c.left)
	if c.leaf.maxRep > 0 {
		// The last of them may be the start of more: an empty row has no second
		// value, but a damaged file may say so.
		n = min(n, c.rep.equal(newRow)) - 1
	}
	if n <= 0 {
		return 0
	}
	c.left -= n
	c.def.skip(n)
	if c.leaf.maxRep > 0 {
		c.rep.skip(n)
	}
	return n
}

// begin stands at the first value of the next row.
func (c *cursor) begin() error {
	ok, err := c.peek()
	switch {
	case err != nil:
		return c.wrap(err)
	case !ok:
		return c.wrap(errors.New("fewer values than the row group has rows"))
	case c.nextRep != newRow:
		return c.wrap(errors.New("row that starts within a list"))
	}
	c.inRow = 1
	return nil
}

// more reports whether the row has another value, after the first.
func (c *cursor) more() (bool, error) {
	if c.leaf.maxRep == 0 {
		return false, nil
	}
	ok, err := c.peek()
	if err != nil {
		return false, c.wrap(err)
	}
	if !ok || c.nextRep == newRow {
		return false, nil
	}
	if c.inRow++; c.inRow > MaxRowValues {
		return false, c.wrap(fmt.Errorf("row of more than %d values", MaxRowValues))
	}
	return true, nil
}

// damage is what makes the rest of a row group unreadable.
type damage struct {
	column string
	offset int64
	err    error
}

func (d *damage) Error() string { return fmt.Sprintf("column %q: %v", d.column, d.err) }
func (d *damage) Unwrap() error { return d.err }

func (c *cursor) wrap(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &damage{column: c.leaf.name(), offset: c.pages.pos, err: err}
}
