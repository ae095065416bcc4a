package arrow

import (
	"math"
	"math/bits"
	"slices"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/op"
)

// column reads a column of a table.
type column interface {
	// start turns to the array of a record batch, nil where that holds nothing.
	start(a *array)
	// values returns the array of the values, nil where there are none or it was not
	// read.
	values() *array
	// turn turns to other rows of the batch.
	turn()
	// load finds out what the values of a chunk mean, unless that is known, and loadAll
	// what those of all chunks mean.
	load(x *translator, w *window, chunk int) error
	loadAll(x *translator, w *window) error
	// fill sets rows of a chunk that is loaded, and of which the first stands at a
	// place of the window.
	fill(list []rows.Row, at int)
	// fillOne sets a list of one row to a value. Nothing need be loaded.
	fillOne(x *translator, list []rows.Row, a *array, i int)
	// says returns the kinds of records to which the column says something.
	says() scope
	// warned returns those rows of a chunk about whose values there is a warning.
	warned(w *window, chunk int) uint64
}

// chunkRows is how many rows of a column are read at once: a bit for each fits a word.
const chunkRows = 64

// windowRows is how many rows are read column by column: few enough to stay in the
// processor's cache.
const (
	windowChunks = 8
	windowRows   = windowChunks * chunkRows
)

// window is rows of a batch that are read together.
type window struct {
	first, n int // the first row is a multiple of chunkRows
	// of has, for each chunk, a bit for each row to which columns of a kind say
	// something.
	of [windowChunks][numScopes]uint64
}

// scope is the kinds of records to which a column says something.
type scope uint8

const (
	ofAll scope = iota
	ofEntries
	ofSpans     // and entries
	ofResources // and entries
	ofSources   // all three
	numScopes
)

// chunks returns how many chunks there are.
func (w *window) chunks() int { return (w.n + chunkRows - 1) / chunkRows }

// chunk returns the place of the first row of a chunk in the arrays, and how many there
// are.
func (w *window) chunk(i int) (first, n int) {
	return w.first + i*chunkRows, min(chunkRows, w.n-i*chunkRows)
}

// setScopes tells the rows of a chunk apart: places are those of the rows of the window,
// and kinds the kinds of records of the places. Without them all are entries.
func (w *window) setScopes(chunk int, places []uint32, kinds []rows.Is) {
	_, n := w.chunk(chunk)
	all := uint64(math.MaxUint64) >> (chunkRows - n)
	var spans, resources, others uint64
	if len(kinds) > 0 {
		no := uint64(0)
		for i, place := range places[chunk*chunkRows:][:n] {
			if kinds[place] != rows.IsEntry {
				no |= 1 << i
			}
		}
		for ; no != 0; no &= no - 1 {
			bit := no & -no
			switch kinds[places[chunk*chunkRows+bits.TrailingZeros64(no)]] {
			case rows.IsSpan:
				spans |= bit
			case rows.IsResource:
				resources |= bit
			case rows.IsOther:
				others |= bit
			}
		}
	}
	entries := all &^ (spans | resources | others)
	w.of[chunk] = [numScopes]uint64{
		ofAll: all, ofEntries: entries, ofSpans: entries | spans, ofResources: entries | resources, ofSources: all &^ others,
	}
}

// of reads a column of values that mean a T.
type of[T any] struct {
	translate translate[T]
	// set sets rows to the meanings at the places given. Place 0 is that of null,
	// the zero value.
	set func(list []rows.Row, meanings []T, places []uint32)
	// bulk, if not nil, translates n values whose form it knows, none of which is null,
	// and returns the meanings with theirs.
	bulk func(meanings []T, a *array, first, n int) ([]T, bool)
	// sameAsNull, if not nil, reports whether all of n values that are not null mean what
	// null means, as far as that can be told at once.
	sameAsNull func(a *array, first, n int) bool
	// some, if not nil, is called instead of set, and for values that are not null
	// only: few rows have any.
	some func(r *rows.Row, v T)
	traits
	place int // among the columns of the reader, -1 where it has none

	array *array // nil where it holds nothing
	null  [1]T
	one   single[T]
	// meanings are those of the dictionary, or of the values of the window.
	meanings []T
	warnings []op.Warning // by place, as far as the last one
	version  int64        // changes with the meanings of places
	// dictionary is what the meanings are of, and edition which of its values.
	dictionary *dictionary
	edition    int
	memory     memory

	// places are those of the rows of the window, as far as its chunks are loaded, and
	// same the place of all rows of a chunk, or mixed.
	places [windowRows]uint32
	same   [windowChunks]uint32
	loaded [windowChunks]bool
	// dense are the places of the first rows of chunks, where the places of the others
	// follow that, and otherwise 0.
	dense [windowChunks]uint32
	// held is the place whose meaning all rows that are filled have, or mixed.
	held uint32
}

// traits tell what is known of a column.
type traits struct {
	scope scope
	// stays: nothing else changes the rows, so that a value that comes again need not
	// be set again.
	stays bool
}

// mixed is no place.
const mixed = math.MaxUint32

// start implements column.
func (c *of[T]) start(a *array) {
	c.array = a
	c.turn()
}

// values implements column.
func (c *of[T]) values() *array { return c.array }

// turn implements column.
func (c *of[T]) turn() {
	c.held = mixed
	c.loaded, c.dense = [windowChunks]bool{}, [windowChunks]uint32{}
	if c.array != nil && c.array.dictionary == nil {
		c.dictionary = nil
		c.clear()
	}
}

// prepare translates the dictionary.
func (c *of[T]) prepare(x *translator) error {
	d := c.array.dictionary
	if d == nil || c.dictionary == d && c.edition == d.edition {
		return nil
	}
	c.clear()
	for i := range d.chunks {
		values := d.chunks[i].values
		if c.bulk != nil {
			if meanings, ok := c.bulkOf(values, 0, values.n); ok {
				c.meanings = meanings
				continue
			}
		}
		c.meanings = slices.Grow(c.meanings, min(values.n, mostReserved))
		c.memory.reserve(values)
		for k := range values.n {
			c.add(x, values, k)
		}
	}
	if x.err != nil {
		c.dictionary = nil
		return x.err
	}
	c.dictionary, c.edition = d, d.edition
	return nil
}

// bulkOf is bulk for an array that may be a dictionary or have nulls, which it refuses.
func (c *of[T]) bulkOf(a *array, first, n int) ([]T, bool) {
	if a.dictionary != nil || a.valid != nil || a.nulls > 0 {
		return nil, false
	}
	return c.bulk(c.meanings, a, first, n)
}

// clear leaves the meaning of null alone.
func (c *of[T]) clear() {
	var null T
	c.memory.reset()
	c.version++
	c.meanings, c.warnings = append(c.meanings[:0], null), c.warnings[:0]
}

// add adds what a value means, and returns its place.
func (c *of[T]) add(x *translator, a *array, i int) uint32 {
	var t T
	var warning op.Warning
	x.memory = &c.memory
	if a, i, ok := a.at(i); ok {
		t, warning, ok = c.translate(x, a, i)
		if !ok {
			var none T
			t = none
		}
	}
	if c.meanings = append(c.meanings, t); warning != 0 {
		for len(c.warnings) < len(c.meanings)-1 {
			c.warnings = append(c.warnings, 0)
		}
		c.warnings = append(c.warnings, warning)
	}
	return uint32(len(c.meanings) - 1)
}

// load implements column.
func (c *of[T]) load(x *translator, w *window, chunk int) error {
	if c.loaded[chunk] {
		return nil
	}
	if err := c.prepare(x); err != nil {
		return err
	}
	a := c.array
	first, n := w.chunk(chunk)
	needed := w.of[chunk][c.scope]
	present := a.notNull(first, n) & needed
	places := c.places[chunk*chunkRows:][:n]
	c.same[chunk] = mixed
	if a.dictionary != nil {
		same, err := a.codes(places, first, present, needed, len(c.meanings))
		c.same[chunk], c.loaded[chunk] = same, err == nil
		return err
	}
	if c.sameAsNull != nil && c.sameAsNull(a, first, n) {
		clear(places)
		c.same[chunk], c.loaded[chunk] = 0, true
		return nil
	}
	if c.bulk != nil && present == needed {
		base := uint32(len(c.meanings))
		if meanings, ok := c.bulk(c.meanings, a, first, n); ok {
			c.meanings, c.loaded[chunk], c.dense[chunk] = meanings, true, base
			for i := range places {
				places[i] = base + uint32(i)
			}
			return nil
		}
	}
	for i := range places {
		if places[i] = 0; present>>i&1 != 0 {
			places[i] = c.add(x, a, first+i)
		}
	}
	if present == 0 {
		c.same[chunk] = 0
	}
	c.loaded[chunk] = x.err == nil
	return x.err
}

// loadAll implements column.
func (c *of[T]) loadAll(x *translator, w *window) error {
	a := c.array
	if a.hasShortIndexes() {
		if err := c.prepare(x); err != nil {
			return err
		}
		if a.shortPlaces(c.places[:w.n], w.first, len(c.meanings)-1) {
			for chunk := range w.chunks() {
				c.same[chunk], c.loaded[chunk] = mixed, true
			}
			return nil
		}
	}
	for chunk := range w.chunks() {
		if err := c.load(x, w, chunk); err != nil {
			return err
		}
	}
	return nil
}

// at returns what the value of a row of the batch means, the zero value where that cannot
// be told. Nothing need be loaded.
func (c *of[T]) at(x *translator, row int) (t T) {
	a := c.array
	if a == nil || a.isNull(row) {
		return t
	}
	if a.dictionary == nil {
		t, _, _ = c.one.read(c, x, a, row)
		return t
	}
	x.err = nil
	if c.prepare(x) != nil {
		return t
	}
	if place := a.place(row); int64(place) < int64(len(c.meanings)) {
		t = c.meanings[place]
	}
	return t
}

// fill implements column.
func (c *of[T]) fill(list []rows.Row, at int) {
	places := c.places[at : at+len(list)]
	same := c.same[at/chunkRows]
	switch {
	case c.some != nil:
		for i := range list {
			if places[i] != 0 {
				c.some(&list[i], c.meanings[places[i]])
			}
		}
	case c.stays && same != mixed && same == c.held:
		return
	default:
		c.held = same
		c.set(list, c.meanings, places)
	}
	if len(c.warnings) > 0 {
		for i := range list {
			list[i].Warn |= c.warning(places[i])
		}
	}
}

// fillOne implements column.
func (c *of[T]) fillOne(x *translator, list []rows.Row, a *array, i int) {
	t, warning, _ := c.one.read(c, x, a, i)
	if c.some != nil {
		c.some(&list[0], t)
	} else {
		c.one.meaning[0] = t
		c.set(list, c.one.meaning[:], c.one.place[:])
	}
	list[0].Warn |= warning
}

// says implements column.
func (c *of[T]) says() scope { return c.scope }

// single is what a single value means.
type single[T any] struct {
	meaning [1]T
	place   [1]uint32
	memory  memory
}

// read translates a value of c, which is valid until the next call. What cannot be
// translated means nothing.
func (s *single[T]) read(c *of[T], x *translator, a *array, i int) (t T, warning op.Warning, ok bool) {
	s.memory.reset()
	x.memory, x.err = &s.memory, nil
	v, warning, ok := c.translate(x, a, i)
	if !ok || x.err != nil {
		return t, warning, false
	}
	return v, warning, true
}

// warning returns the warning about a value.
func (c *of[T]) warning(place uint32) op.Warning {
	if int(place) < len(c.warnings) {
		return c.warnings[place]
	}
	return 0
}

// warned implements column.
func (c *of[T]) warned(w *window, chunk int) (set uint64) {
	if len(c.warnings) == 0 {
		return 0
	}
	_, n := w.chunk(chunk)
	for i, place := range c.places[chunk*chunkRows:][:n] {
		if c.warning(place) != 0 {
			set |= 1 << i
		}
	}
	return set
}
