package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/op"
)

const (
	// maxListBytes is how much the values of a column of lists may take, in the encoding by
	// which they are found, before they are forgotten.
	maxListBytes = 1 << 20
	maxLists     = 1 << 14 // how many there may be
	// maxKeyWords is how long a key may be. Longer rows get a code each.
	maxKeyWords = 512
)

// listColumn is a column of lists, dictionary-encoded as in op.Column. The file has no
// dictionary of lists: rows that are stored alike, by levels and indexes or values, get the
// same code, from window to window.
type listColumn[T ~[]E, E any] struct {
	*column                      // nil where the file has none
	reader                       // of a row
	of      func(r *rows.Row) *T // where a row keeps its list
	clone   func(list T) T

	codes    [windowRows]uint32
	values   []T // of the codes; the first is that of null
	warnings []op.Warning
	version  int64
	exact    bool // whether the rows of the window are those that codes tell, without warnings

	found  keyTable
	key    []uint64
	number int // of the dictionary that the keys refer to
}

// newListColumn returns the column of a field. of tells where a row keeps its list, clone
// returns a copy of one.
func newListColumn[T ~[]E, E any](b *block, name string, of func(*rows.Row) *T, clone func(T) T) *listColumn[T, E] {
	c := &listColumn[T, E]{of: of, clone: clone}
	c.forget()
	if i := b.place(name); i >= 0 {
		c.column = b.newColumn(&b.leaves[b.bound[i].leaf])
		c.column.batch = rows.NewBatch(1)
		c.reader = b.bound[i].reader(c.column)
		b.windowed = append(b.windowed, boundColumn{c, b.bound[i].leaf})
		b.byReader[i].fill = c.fill
	}
	return c
}

// forget leaves the value of null alone.
func (c *listColumn[T, E]) forget() {
	var null T
	c.values, c.warnings = append(c.values[:0], null), append(c.warnings[:0], 0)
	c.found.clear()
	c.version++
}

// load implements windowColumn. A row that goes on from one page to the next is unusual.
func (c *listColumn[T, E]) load(n int, unusual *[windowWords]uint64) error {
	if c.found.size() > maxListBytes || len(c.values) > maxLists {
		c.forget()
	}
	c.exact = true
	for row := -1; ; {
		if c.pos == c.n && c.leaf.maxRep == 0 && row == n-1 {
			return nil
		}
		switch err := c.column.load(); {
		case err == io.EOF && row == n-1:
			return nil
		case err != nil:
			return c.wrap(err)
		}
		if c.hasDictionary && c.number != c.dictionaries {
			if row >= 0 {
				return c.wrap(errors.New("dictionary behind values"))
			}
			c.number = c.dictionaries
			c.forget()
		}
		if c.allNull() {
			k := min(c.n-c.pos, n-1-row)
			if k == 0 {
				return nil
			}
			clear(c.codes[row+1 : row+1+k])
			c.pos += k
			row += k
			continue
		}
		if err := c.unroll(); err != nil {
			return c.wrap(err)
		}
		if c.reps.list[c.pos] > 0 {
			if row < 0 {
				return c.wrap(errors.New("row that starts within a list"))
			}
			c.pass()
			unusual[row/64] |= 1 << (row % 64)
			c.exact = false
		}
		for c.pos < c.n {
			if row == n-1 {
				return nil
			}
			row++
			code, err := c.next()
			if err != nil {
				return c.wrap(err)
			}
			if c.codes[row] = code; c.warnings[code] != 0 {
				unusual[row/64] |= 1 << (row % 64)
				c.exact = false
			}
		}
	}
}

// unroll lists the numbers of the page.
func (c *listColumn[T, E]) unroll() error {
	return errors.Join(c.reps.unroll(), c.defs.unroll(), c.indexes.unroll())
}

// pass passes over the rest of a row, as far as the page has it.
func (c *listColumn[T, E]) pass() {
	for ; c.pos < c.n && c.reps.at(c.pos) > 0; c.pos++ {
		if c.defs.at(c.pos) == c.leaf.maxDef {
			c.column.next++
		}
	}
}

// next returns the code of the next row, as far as the page has it.
func (c *listColumn[T, E]) next() (uint32, error) {
	pos, next := c.pos, c.column.next
	if err := c.readKey(); err != nil {
		return 0, err
	}
	if len(c.key) > maxKeyWords {
		return c.add(pos, next)
	}
	code, ok := c.found.find(c.key)
	if !ok {
		var err error
		if *code, err = c.add(pos, next); err != nil {
			c.forget() // the key
			return 0, err
		}
	}
	return *code, nil
}

// add adds the row that has been read last, and returns its code. It starts at a place of
// the page, and its values at one among those that are not null.
func (c *listColumn[T, E]) add(pos, next int) (code uint32, err error) {
	row := c.column
	n, after, nextAfter, ahead := row.n, row.pos, row.next, row.pages
	defer func() { row.n, row.pos, row.next, row.pages = n, after, nextAfter, ahead }()
	row.n, row.pos, row.next, row.pages = after, pos, next, pages{} // the reader is to see no more
	list := row.batch.Reset(1)
	if _, err := c.reader.read(row, list); err != nil {
		return 0, err
	}
	if v := *c.of(&list[0]); v != nil || list[0].Warn != 0 {
		code = uint32(len(c.values))
		c.values, c.warnings = append(c.values, c.clone(v)), append(c.warnings, list[0].Warn)
	}
	return code, nil
}

// readKey reads the next row, as far as the page has it, and sets the key to what is stored
// of it.
func (c *listColumn[T, E]) readKey() error {
	reps, defs := c.reps.list[c.pos:c.n], c.defs.list[c.pos:c.n]
	end := 1
	for end < len(reps) && reps[end] != 0 {
		end++
	}
	if end > MaxRowValues {
		return fmt.Errorf("row of more than %d values", MaxRowValues)
	}
	c.pos += end
	const hasIndexes, hasValues = 0, 1
	if !c.hasIndexes {
		return c.readOwn(append(c.key[:0], hasValues), reps[:end], defs[:end])
	}
	key := append(c.key[:0], hasIndexes)
	indexes := c.indexes.list[c.column.next:]
	used := 0
	for i, def := range defs[:end] {
		word := uint64(reps[i])<<48 | uint64(def)<<32
		if def == c.leaf.maxDef {
			if used == len(indexes) {
				return errShortPage
			}
			word |= uint64(uint32(indexes[used]))
			used++
		}
		key = append(key, word)
	}
	c.column.next += used
	c.key = key
	return nil
}

// readOwn is readKey where the page has values of its own.
func (c *listColumn[T, E]) readOwn(key []uint64, reps, defs []int32) error {
	for i, def := range defs {
		if len(key) <= maxKeyWords {
			key = append(key, uint64(reps[i])<<48|uint64(def)<<32)
		}
		if def < c.leaf.maxDef {
			continue
		}
		if c.column.next >= c.own.n {
			return c.own.err
		}
		if len(key) <= maxKeyWords {
			key = appendValue(key, c.own.at(c.column.next))
		}
		c.column.next++
	}
	c.key = key
	return nil
}

// appendValue appends an encoding of a value, which is too long for a key where it does not
// tell the value.
func appendValue(key []uint64, v value) []uint64 {
	key = append(key, uint64(v.i), math.Float64bits(v.f), uint64(len(v.b)))
	for text := v.b; len(text) > 0 && len(key) <= maxKeyWords; {
		var word [8]byte
		text = text[copy(word[:], text):]
		key = append(key, binary.LittleEndian.Uint64(word[:]))
	}
	return key
}

// fill does what the reader of rows does, for a row of the window. It reports false where
// it cannot.
func (c *listColumn[T, E]) fill(r *rows.Row, i int) bool {
	if c.exact {
		*c.of(r) = c.values[c.codes[i]]
	}
	return c.exact
}

// shown returns the column of the window.
func (c *listColumn[T, E]) shown() op.Column[T] {
	return op.Column[T]{Codes: c.codes[:], Values: c.values, Version: c.version}
}

// cloneShapes copies shapes whose dimensions are not to last.
func cloneShapes(list []op.Shape) []op.Shape {
	list = slices.Clone(list)
	for i := range list {
		list[i] = slices.Clone(list[i])
	}
	return list
}
