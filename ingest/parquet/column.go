package parquet

import (
	"errors"
	"fmt"
	"io"
	"math/bits"

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
	pages pages
	shared
	leads bool // rows are not read past the end of its pages

	n, pos     int // values of the page, and how many of them have been read
	next       int // the next of those that are not null
	reps, defs numbers
	// A page has values of its own, or indexes into the dictionary.
	own             values
	indexes         numbers
	hasIndexes      bool
	dictionary      values
	hasDictionary   bool
	dictionaries    int   // how many dictionaries there have been
	dictionaryBytes int64 // what the budget knows of the dictionary
}

// shared is what the columns of a file share.
type shared struct {
	strings *intern.Table
	texts   *op.Builder // reads shapes that are kept as text
	batch   *rows.Batch
}

func newColumn(l *leaf, p pages, s shared) *column {
	n := numbers{budget: p.budget}
	return &column{leaf: l, pages: p, shared: s, own: values{leaf: l, bits: n}, reps: n, defs: n, indexes: n}
}

// start turns to the chunk of a row group.
func (c *column) start(ch *columnChunk, rows int64) {
	c.n, c.pos, c.hasDictionary = 0, 0, false
	c.pages.start(ch, rows)
}

// load makes sure that the page has values to read. It returns io.EOF at the end
// of the chunk.
func (c *column) load() error {
	for c.pos == c.n {
		pg, err := c.pages.next()
		if err != nil {
			return err
		}
		if err := c.setPage(pg); err != nil {
			return err
		}
	}
	return nil
}

var errLevel = errors.New("level that the column does not have")

// setPage turns to a page.
func (c *column) setPage(pg page) error {
	if pg.dictionary {
		return c.setDictionary(pg)
	}
	c.n, c.pos, c.next = 0, 0, 0
	n, err := c.decodeLevels(pg)
	if err != nil {
		return err
	}
	if c.hasIndexes = pg.encoding == format.RLEDictionary || pg.encoding == oldDictionary; !c.hasIndexes {
		err = c.own.decode(pg)
	} else {
		switch {
		case !c.hasDictionary:
			err = errors.New("page refers to a dictionary that is missing")
		case len(pg.data) == 0: // nothing but nulls
			c.indexes.n, c.indexes.list = 0, nil
		default:
			err = c.indexes.decode(pg.data[1:], int(pg.data[0]), pg.values)
		}
	}
	if err == nil {
		c.n = n
	}
	return err
}

// decodeLevels returns how many values have levels.
func (c *column) decodeLevels(pg page) (n int, err error) {
	n = pg.values
	for _, l := range []struct {
		levels  *numbers
		data    []byte
		highest int32
	}{{&c.reps, pg.rep, c.leaf.maxRep}, {&c.defs, pg.def, c.leaf.maxDef}} {
		if err := l.levels.decode(l.data, bits.Len32(uint32(l.highest)), pg.values); err != nil {
			return 0, err
		}
		if err := l.levels.check(l.highest); err != nil {
			return 0, err
		}
		if l.levels.n < n {
			return 0, errShortPage
		}
	}
	return n, nil
}

// oldDictionary is PLAIN_DICTIONARY, which old writers still use for
// dictionaries and for indexes into them.
const oldDictionary format.Encoding = 2

func (c *column) setDictionary(pg page) error {
	if c.hasDictionary {
		return errors.New("two dictionaries")
	}
	if pg.encoding != format.Plain && pg.encoding != oldDictionary {
		return fmt.Errorf("dictionary in encoding %d is not supported", pg.encoding)
	}
	if err := c.pages.budget.hold(&c.dictionaryBytes, int64(pg.values)*bytesPerValue+int64(len(pg.data))); err != nil {
		return err
	}
	pg.encoding = format.Plain
	pg.data = append([]byte(nil), pg.data...)
	c.dictionary = values{leaf: c.leaf, bits: numbers{budget: c.pages.budget}}
	c.hasDictionary = true
	c.dictionaries++
	if err := c.dictionary.decode(pg); err != nil {
		return err
	}
	if c.dictionary.n < pg.values {
		return c.dictionary.err
	}
	return nil
}

// bytesPerValue is what a value of a dictionary takes, besides its bytes.
const bytesPerValue = 80

// allNull reports whether the page holds nothing but rows that are null.
func (c *column) allNull() bool {
	return c.defs.list == nil && c.defs.value == 0 && c.reps.list == nil && c.reps.value == 0 && c.leaf.nullable()
}

// damage is what makes the rest of a row group unreadable.
type damage struct {
	column string
	offset int64
	err    error
}

func (d *damage) Error() string { return fmt.Sprintf("column %q: %v", d.column, d.err) }
func (d *damage) Unwrap() error { return d.err }

// safely calls f where a library may panic.
func (c *column) safely(f func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = c.wrap(fmt.Errorf("damaged page: %v", fault))
		}
	}()
	return f()
}

func (c *column) wrap(err error) error {
	if err == io.EOF {
		err = errors.New("fewer values than the row group has rows")
	}
	return &damage{column: c.leaf.name(), offset: c.pages.pos, err: err}
}

// meaning is what a value means.
type meaning[T any] struct {
	v       T
	warning op.Warning
	ok      bool // false for a value that means nothing
}

// translator translates the values of a column, those of a dictionary once.
type translator[T any] struct {
	translate  translate[T]
	dictionary []meaning[T]
	number     int // of the dictionary
	last       meaning[T]
}

// next returns the next value that is not null.
func (t *translator[T]) next(c *column) (*meaning[T], error) {
	i := c.next
	c.next++
	if !c.hasIndexes {
		if i >= c.own.n {
			return nil, c.own.err
		}
		t.last.v, t.last.warning, t.last.ok = t.translate(c, c.own.at(i))
		return &t.last, nil
	}
	if i >= c.indexes.n {
		return nil, errShortPage
	}
	if t.number != c.dictionaries {
		t.translateAll(c)
	}
	at := uint32(c.indexes.at(i))
	if at >= uint32(len(t.dictionary)) {
		return nil, fmt.Errorf("index %d in a dictionary of %d values", at, len(t.dictionary))
	}
	return &t.dictionary[at], nil
}

// translateAll translates the dictionary.
func (t *translator[T]) translateAll(c *column) {
	t.number = c.dictionaries
	t.dictionary = make([]meaning[T], c.dictionary.n)
	for i := range t.dictionary {
		m := &t.dictionary[i]
		m.v, m.warning, m.ok = t.translate(c, c.dictionary.at(i))
	}
}

// reader reads a column into rows.
type reader interface {
	// read returns how many of the rows it has read.
	read(c *column, rows []rows.Row) (n int, err error)
}

// single reads a column that holds one value per row.
type single[T any] struct {
	translator[T]
	set func(r *rows.Row, v T)
}

func (s *single[T]) read(c *column, rows []rows.Row) (n int, err error) {
	for n < len(rows) {
		if err := c.load(); err != nil {
			return n, c.wrap(err)
		}
		k := min(c.n-c.pos, len(rows)-n)
		if !c.allNull() {
			for i := range k {
				if c.defs.at(c.pos+i) < c.leaf.maxDef {
					continue
				}
				m, err := s.next(c)
				if err != nil {
					return n + i, c.wrap(err)
				}
				r := &rows[n+i]
				if m.ok {
					s.set(r, m.v)
				}
				r.Warn |= m.warning
			}
		}
		n += k
		if c.pos += k; c.leads && c.pos == c.n {
			break
		}
	}
	return n, nil
}

// list reads a column value by value.
type list[T any] struct {
	translator[T]
	to sink[T]
}

// sink takes the values of a row, one after the other.
type sink[T any] interface {
	// add takes a value at a repetition and a definition level, nil for null.
	add(r *rows.Row, rep, def int32, v *meaning[T])
	// end is called behind the last value of a row.
	end(r *rows.Row)
}

func (l *list[T]) read(c *column, rows []rows.Row) (n int, err error) {
	row, inRow := -1, 0
	hasList := false // in the row
	end := func() {
		if inRow > 0 {
			l.to.end(&rows[row])
		}
		inRow = 0
	}
	for {
		if row == len(rows)-1 && c.leaf.maxRep == 0 {
			end()
			return len(rows), nil
		}
		if err := c.load(); err != nil {
			if err == io.EOF || c.leaf.maxRep == 0 { // the row is complete
				end()
				if row++; row == len(rows) {
					return row, nil
				}
			}
			return max(0, row), c.wrap(err)
		}
		if c.allNull() {
			end()
			k := min(c.n-c.pos, len(rows)-1-row)
			if k == 0 {
				return len(rows), nil
			}
			c.pos += k
			row += k
			hasList = false
			continue
		}
		for ; c.pos < c.n; c.pos++ {
			rep, def := c.reps.at(c.pos), c.defs.at(c.pos)
			switch {
			case rep == 0:
				if end(); row == len(rows)-1 {
					return len(rows), nil
				}
				row++
				hasList = c.leaf.maxRep == 0 || def >= c.leaf.lists[0]
			case row < 0:
				return 0, c.wrap(errors.New("row that starts within a list"))
			case !hasList:
				return row, c.wrap(errors.New("elements of a list that has none"))
			}
			if inRow++; inRow > MaxRowValues {
				return row, c.wrap(fmt.Errorf("row of more than %d values", MaxRowValues))
			}
			var v *meaning[T]
			if def == c.leaf.maxDef {
				if v, err = l.next(c); err != nil {
					return row, c.wrap(err)
				}
			}
			l.to.add(&rows[row], rep, def, v)
		}
	}
}
