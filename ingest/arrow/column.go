package arrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/internal/arrowipc"
	"github.com/optrace/optrace/op"
)

// column reads a column into rows.
type column interface {
	// start turns to the array of a record batch.
	start(x *translator, a *array) error
	// read sets the column of the rows of a block.
	read(x *translator, b *block) error
}

// block is rows that are read together.
type block struct {
	rows  []rows.Row
	first int // the place of the first of them in the arrays
	// of has a bit for each row to which columns of a kind say something.
	of [numScopes]uint64
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

// setScopes tells the rows apart.
func (b *block) setScopes() {
	all := uint64(math.MaxUint64) >> (64 - len(b.rows))
	var spans, resources, others uint64
	for i := range b.rows {
		switch b.rows[i].Is() {
		case rows.IsSpan:
			spans |= 1 << i
		case rows.IsResource:
			resources |= 1 << i
		case rows.IsOther:
			others |= 1 << i
		}
	}
	entries := all &^ (spans | resources | others)
	b.of = [numScopes]uint64{
		ofAll: all, ofEntries: entries, ofSpans: entries | spans, ofResources: entries | resources, ofSources: all &^ others,
	}
}

// of reads a column of values that mean a T.
type of[T any] struct {
	translate translate[T]
	// set sets rows to the meanings at the places given. Place 0 is that of null,
	// the zero value.
	set func(list []rows.Row, meanings []T, places []uint32)
	// direct, if not nil, reads values that are no indexes, and reports whether it
	// could.
	direct func(list []rows.Row, a *array, first int) bool
	// bulk, if not nil, translates values of a dictionary that it knows the form of,
	// and returns the meanings with theirs.
	bulk func(meanings []T, a *array) ([]T, bool)
	// some, if not nil, is called instead of set, and for values that are not null
	// only: few rows have any.
	some func(r *rows.Row, v T)
	traits

	// held is the place whose meaning all rows have, or mixed.
	held uint32

	array    *array
	meanings []T
	warnings []op.Warning // by place, as far as the last one
	// dictionary is what the meanings are of, and version which of its values.
	dictionary *dictionary
	version    int
	places     [rows.Size]uint32
	memory     memory
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
func (c *of[T]) start(x *translator, a *array) error {
	c.array, c.held = a, mixed
	if a.dictionary == nil {
		c.dictionary = nil
		return nil
	}
	if c.dictionary == a.dictionary && c.version == a.dictionary.version {
		return nil
	}
	c.dictionary, c.version = a.dictionary, a.dictionary.version
	c.clear()
	for i := range a.dictionary.chunks {
		values := a.dictionary.chunks[i].values
		if c.bulk != nil {
			if meanings, ok := c.bulk(c.meanings, values); ok {
				c.meanings = meanings
				continue
			}
		}
		for k := range values.n {
			c.add(x, values, k)
		}
	}
	return x.err
}

// clear leaves the meaning of null alone.
func (c *of[T]) clear() {
	var null T
	c.memory.reset()
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

// read implements column.
func (c *of[T]) read(x *translator, b *block) error {
	a, list := c.array, b.rows
	needed := b.of[c.scope]
	given := a.given(b.first, len(list)) & needed
	if c.some != nil {
		return c.readSome(x, b, given)
	}
	if a.dictionary == nil && c.direct != nil && given == needed && c.direct(list, a, b.first) {
		return nil
	}
	places := c.places[:len(list)]
	if same := a.same(b.first, len(list), given, needed); same != mixed && a.dictionary != nil {
		if int(same) >= len(c.meanings) {
			return a.badIndex(same, len(c.meanings))
		}
		if c.stays && same == c.held {
			return nil
		}
		c.held = same
		for i := range places {
			places[i] = same
		}
	} else if err := c.find(x, places, b.first, given, needed); err != nil {
		return err
	}
	c.set(list, c.meanings, places)
	if len(c.warnings) > 0 {
		for i := range list {
			list[i].Warn |= c.warning(places[i])
		}
	}
	return nil
}

// warning returns the warning about a value.
func (c *of[T]) warning(place uint32) op.Warning {
	if int(place) < len(c.warnings) {
		return c.warnings[place]
	}
	return 0
}

// readSome sets the rows that have a value.
func (c *of[T]) readSome(x *translator, b *block, given uint64) error {
	a := c.array
	if a.dictionary == nil {
		c.clear()
	}
	for ; given != 0; given &= given - 1 {
		i := bits.TrailingZeros64(given)
		var place uint32
		if a.dictionary == nil {
			place = c.add(x, a, b.first+i)
		} else if place = a.place(b.first + i); int(place) >= len(c.meanings) {
			return a.badIndex(place, len(c.meanings))
		}
		r := &b.rows[i]
		c.some(r, c.meanings[place])
		r.Warn |= c.warning(place)
	}
	return x.err
}

// find sets the places of the meanings of rows.
func (c *of[T]) find(x *translator, places []uint32, first int, given, needed uint64) error {
	c.held = mixed
	if c.array.dictionary != nil {
		return c.array.places(places, first, given, needed, len(c.meanings))
	}
	c.clear()
	for i := range places {
		if places[i] = 0; given>>i&1 != 0 {
			places[i] = c.add(x, c.array, first+i)
		}
	}
	return x.err
}

// given tells which of n values are not null, n being at most 64 and first a
// multiple of it.
func (a *array) given(first, n int) uint64 {
	all := uint64(math.MaxUint64) >> (64 - n)
	switch {
	case a.allNull():
		return 0
	case a.valid == nil:
		return all
	}
	if at := first / 8; at+8 <= len(a.valid) {
		return binary.LittleEndian.Uint64(a.valid[at:]) & all
	}
	var word [8]byte
	copy(word[:], a.valid[first/8:])
	return binary.LittleEndian.Uint64(word[:]) & all
}

// same returns the place of the meaning that all values which are needed have, mixed
// where they differ.
func (a *array) same(first, n int, given, needed uint64) uint32 {
	switch {
	case given == 0:
		return 0
	case given != needed || a.dictionary == nil || a.field.Dictionary.Index.Bits != 16:
		return mixed
	}
	// Equal to itself, moved by one index.
	data := a.data[2*first : 2*(first+n)]
	last := len(data) - 2
	if data[0] != data[last] || !bytes.Equal(data[2:], data[:last]) {
		return mixed
	}
	return uint32(binary.LittleEndian.Uint16(data)) + 1
}

func (a *array) badIndex(place uint32, n int) error {
	return fmt.Errorf("index %d in a dictionary of %d values", place-1, n-1)
}

// places16 sets places from indexes of 16 bits, and returns the highest.
func places16(places []uint32, data []byte) (highest uint32) {
	for len(places) >= 4 && len(data) >= 8 {
		four := binary.LittleEndian.Uint64(data)
		p := (*[4]uint32)(places)
		p[0], p[1] = uint32(uint16(four))+1, uint32(uint16(four>>16))+1
		p[2], p[3] = uint32(uint16(four>>32))+1, uint32(four>>48)+1
		highest = max(highest, p[0], p[1], p[2], p[3])
		places, data = places[4:], data[8:]
	}
	for i := range places {
		places[i] = uint32(binary.LittleEndian.Uint16(data[2*i:])) + 1
		highest = max(highest, places[i])
	}
	return highest
}

// place returns the place of the meaning of an index.
func (a *array) place(i int) uint32 {
	const beyond = mixed - 1
	return uint32(min(uint64(a.index(i)), beyond)) + 1
}

// places sets the places of the meanings of indexes, of which there are n with that
// of null. Those that are not needed may become any.
func (a *array) places(places []uint32, first int, given, needed uint64, n int) error {
	highest := uint32(0)
	if given == needed && a.field.Dictionary.Index.Bits == 16 {
		highest = places16(places, a.data[2*first:])
		if highest < uint32(n) {
			return nil
		}
		highest = 0 // it may be one that is not needed
	}
	for i := range places {
		if places[i] = 0; given>>i&1 != 0 {
			places[i] = a.place(first + i)
		}
		highest = max(highest, places[i])
	}
	if int64(highest) >= int64(n) {
		return a.badIndex(highest, n)
	}
	return nil
}

// times reads integers of 64 bits that are nanoseconds.
func times(set func(list []rows.Row, values []byte)) func([]rows.Row, *array, int) bool {
	return func(list []rows.Row, a *array, first int) bool {
		t := a.field.Type
		isTime := t.Kind == arrowipc.Int && t.Signed || t.Kind == arrowipc.Timestamp || t.Kind == arrowipc.Duration
		if !isTime || t.Bits != 64 || t.Unit > 1 {
			return false
		}
		set(list, a.data[8*first:8*(first+len(list))])
		return true
	}
}

// booleans reads booleans.
func booleans(set func(list []rows.Row, bits []byte, first int)) func([]rows.Row, *array, int) bool {
	return func(list []rows.Row, a *array, first int) bool {
		if a.field.Type.Kind != arrowipc.Bool {
			return false
		}
		set(list, a.data, first)
		return true
	}
}

// spanIDs reads ids in hexadecimal.
func spanIDs(list []rows.Row, a *array, first int) bool {
	if a.field.Type.Kind != arrowipc.Utf8 {
		return false
	}
	for i := range list {
		b, err := a.bytes(first + i)
		if err != nil {
			return false
		}
		id, ok := op.ParseSpanID(b)
		if !ok || id.IsZero() {
			return false
		}
		list[i].SpanID = id
	}
	return true
}

// knownInts adds integers of 64 bits of which none is null or less than least.
func knownInts(least int64) func([]op.Int, *array) ([]op.Int, bool) {
	return func(meanings []op.Int, a *array) ([]op.Int, bool) {
		t := a.field.Type
		if a.dictionary != nil || t.Kind != arrowipc.Int || !t.Signed || t.Bits != 64 || a.valid != nil || a.nulls > 0 {
			return nil, false
		}
		first := len(meanings)
		for i := range a.n {
			v := int64At(a.data, i)
			if v < least {
				return meanings[:first], false
			}
			meanings = append(meanings, op.Int{V: v, Known: true})
		}
		return meanings, true
	}
}
