package arrow

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/internal/arrowipc"
	"github.com/optrace/optrace/op"
)

// column reads a column into rows.
type column interface {
	// start turns to the array of a record batch.
	start(x *translator, a *array) error
	// read sets the column of rows, which begin with the first-th of the array.
	read(x *translator, list []rows.Row, first int) error
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

	array    *array
	meanings []T
	warnings []op.Warning
	warns    bool // whether there are any
	// dictionary is what the meanings are of, and version which of its values.
	dictionary *dictionary
	version    int
	places     [rows.Size]uint32
	memory     memory
}

// start implements column.
func (c *of[T]) start(x *translator, a *array) error {
	c.array = a
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
	c.meanings, c.warnings, c.warns = append(c.meanings[:0], null), append(c.warnings[:0], 0), false
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
	c.meanings, c.warnings = append(c.meanings, t), append(c.warnings, warning)
	c.warns = c.warns || warning != 0
	return uint32(len(c.meanings) - 1)
}

// read implements column.
func (c *of[T]) read(x *translator, list []rows.Row, first int) error {
	a := c.array
	if a.dictionary == nil && c.direct != nil && c.direct(list, a, first) {
		return nil
	}
	places := c.places[:len(list)]
	if a.dictionary != nil {
		if err := a.places(places, first, len(c.meanings)); err != nil {
			return err
		}
	} else {
		c.clear()
		for i := range places {
			if places[i] = 0; !a.isNull(first + i) {
				places[i] = c.add(x, a, first+i)
			}
		}
		if x.err != nil {
			return x.err
		}
	}
	c.set(list, c.meanings, places)
	if c.warns {
		for i := range list {
			list[i].Warn |= c.warnings[places[i]]
		}
	}
	return nil
}

// places sets the places of the meanings of indexes, of which there are n with that
// of null.
func (a *array) places(places []uint32, first, n int) error {
	highest := uint32(0)
	switch {
	case a.field.Dictionary.Index.Bits != 16:
		const beyond = math.MaxUint32 - 1
		for i := range places {
			if places[i] = 0; !a.isNull(first + i) {
				places[i] = uint32(min(uint64(a.index(first+i)), beyond)) + 1
			}
			highest = max(highest, places[i])
		}
	case a.valid == nil:
		data := a.data[2*first : 2*(first+len(places))]
		for i := range places {
			places[i] = uint32(binary.LittleEndian.Uint16(data[2*i:])) + 1
			highest = max(highest, places[i])
		}
	default:
		data := a.data[2*first : 2*(first+len(places))]
		for i := range places {
			at := first + i
			known := uint32(a.valid[at/8] >> (at % 8) & 1)
			places[i] = (uint32(binary.LittleEndian.Uint16(data[2*i:])) + 1) * known
			highest = max(highest, places[i])
		}
	}
	if int64(highest) >= int64(n) {
		return fmt.Errorf("index %d in a dictionary of %d values", highest-1, n-1)
	}
	return nil
}

// noNulls reports whether none of n values is null.
func (a *array) noNulls(first, n int) bool {
	if a.valid == nil {
		return a.nulls == 0
	}
	for i := first; i < first+n; {
		if i%8 == 0 && first+n-i >= 8 {
			if a.valid[i/8] != 0xff {
				return false
			}
			i += 8
			continue
		}
		if a.isNull(i) {
			return false
		}
		i++
	}
	return true
}

// times reads integers of 64 bits that are nanoseconds.
func times(set func(list []rows.Row, values []byte)) func([]rows.Row, *array, int) bool {
	return func(list []rows.Row, a *array, first int) bool {
		t := a.field.Type
		isTime := t.Kind == arrowipc.Int && t.Signed || t.Kind == arrowipc.Timestamp || t.Kind == arrowipc.Duration
		if !isTime || t.Bits != 64 || t.Unit > 1 || !a.noNulls(first, len(list)) {
			return false
		}
		set(list, a.data[8*first:8*(first+len(list))])
		return true
	}
}

// bits reads booleans.
func bits(set func(list []rows.Row, bits []byte, first int)) func([]rows.Row, *array, int) bool {
	return func(list []rows.Row, a *array, first int) bool {
		if a.field.Type.Kind != arrowipc.Bool || !a.noNulls(first, len(list)) {
			return false
		}
		set(list, a.data, first)
		return true
	}
}

// spanIDs reads ids in hexadecimal.
func spanIDs(list []rows.Row, a *array, first int) bool {
	if a.field.Type.Kind != arrowipc.Utf8 || !a.noNulls(first, len(list)) {
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
