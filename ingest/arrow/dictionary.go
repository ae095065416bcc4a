package arrow

import (
	"fmt"
	"slices"

	"github.com/optrace/optrace/internal/arrowipc"
)

// dictionary is the values that indexes refer to: those of one message, and those
// of the messages that added to them.
type dictionary struct {
	chunks  []chunk
	size    int64  // of the messages
	edition int    // changes with the values
	spare   []byte // memory for values
}

// chunk is the values of a message, which are taken apart when they are needed.
type chunk struct {
	batch *arrowipc.Batch
	body  []byte
	// open, if not nil, reads batch and body, which nobody may need, into memory that it
	// is given. Where later has a source instead, that is the body, and size what it
	// takes.
	open    func(memory []byte) (*arrowipc.Batch, []byte, error)
	later   body
	singles int    // how many values of it were read
	values  *array // nil before
}

// dictionaries are those in effect.
type dictionaries struct {
	fields map[int64]*arrowipc.Field // what they hold, without the dictionary
	byID   map[int64]*dictionary
	held   int64
	unpack *decompressor
}

// newDictionaries returns the dictionaries of a schema, all of them empty.
func newDictionaries(s *arrowipc.Schema, unpack *decompressor) *dictionaries {
	d := &dictionaries{fields: make(map[int64]*arrowipc.Field), byID: make(map[int64]*dictionary), unpack: unpack}
	d.collect(s.Fields)
	return d
}

func (d *dictionaries) collect(fields []arrowipc.Field) {
	for i := range fields {
		f := &fields[i]
		if f.Dictionary != nil && d.fields[f.Dictionary.ID] == nil {
			values := *f
			values.Dictionary = nil
			d.fields[f.Dictionary.ID] = &values
			d.byID[f.Dictionary.ID] = new(dictionary)
		}
		d.collect(f.Children)
	}
}

// find returns the dictionary of an id that the schema has.
func (d *dictionaries) find(id int64) *dictionary { return d.byID[id] }

// add makes the values of a message those of their dictionary, or adds them. body
// is not to change as long as they are in effect.
func (d *dictionaries) add(m *arrowipc.Message, body []byte) error {
	dict, err := d.change(m.Dictionary, m.Delta)
	if err != nil {
		return err
	}
	dict.chunks = append(dict.chunks, chunk{batch: m.Batch, body: body})
	dict.spare = nil // it may be body
	return d.hold(dict, len(body))
}

// memory returns memory for the values of a message: that of those which they
// replace.
func (d *dictionaries) memory(m *arrowipc.Message) []byte {
	dict := d.byID[m.Dictionary]
	if m.Delta || dict == nil || len(dict.chunks) != 1 || dict.chunks[0].open != nil {
		return nil
	}
	return dict.chunks[0].body[:0]
}

// forget makes all dictionaries empty.
func (d *dictionaries) forget() {
	for _, dict := range d.byID {
		d.empty(dict)
		dict.edition++
	}
}

// empty removes the values, and keeps their memory.
func (d *dictionaries) empty(dict *dictionary) {
	d.held -= dict.size
	if len(dict.chunks) == 1 && dict.chunks[0].open == nil {
		dict.spare = dict.chunks[0].body
	}
	dict.chunks, dict.size = dict.chunks[:0], 0
}

// addLater is add for a message that open reads when the values are needed.
func (d *dictionaries) addLater(id int64, delta bool, open func(memory []byte) (*arrowipc.Batch, []byte, error)) error {
	dict, err := d.change(id, delta)
	if err == nil {
		dict.chunks = append(dict.chunks, chunk{open: open})
	}
	return err
}

// addBody is add for a body that is read, or parts of it, when the values are needed.
func (d *dictionaries) addBody(m *arrowipc.Message, b body) error {
	dict, err := d.change(m.Dictionary, m.Delta)
	if err != nil {
		return err
	}
	dict.chunks = append(dict.chunks, chunk{batch: m.Batch, later: b, open: func(memory []byte) (*arrowipc.Batch, []byte, error) {
		memory = slices.Grow(memory, int(b.length))[:b.length]
		_, err := b.src.ReadAt(memory, b.at)
		return m.Batch, memory, err
	}})
	return nil
}

// change prepares a dictionary for other values, or for more.
func (d *dictionaries) change(id int64, delta bool) (*dictionary, error) {
	dict := d.byID[id]
	if dict == nil {
		return nil, fmt.Errorf("dictionary %d is none of the schema", id)
	}
	if !delta {
		d.empty(dict)
	}
	dict.edition++
	return dict, nil
}

func (d *dictionaries) hold(dict *dictionary, n int) error {
	dict.size += int64(n)
	if d.held += int64(n); d.held > MaxHeldBytes {
		return fmt.Errorf("dictionaries of more than %d bytes", MaxHeldBytes)
	}
	return nil
}

// load takes the values of the dictionary of a field apart, and those of the
// dictionaries that they refer to.
func (d *dictionaries) load(f *arrowipc.Field, depth int) error {
	if depth > arrowipc.MaxDepth {
		return fmt.Errorf("dictionaries of dictionaries, more than %d", arrowipc.MaxDepth)
	}
	for i := range f.Children {
		if err := d.load(&f.Children[i], depth+1); err != nil {
			return err
		}
	}
	if f.Dictionary == nil {
		return nil
	}
	field := d.fields[f.Dictionary.ID]
	dict := d.byID[f.Dictionary.ID]
	for i := range dict.chunks {
		c := &dict.chunks[i]
		if c.values != nil {
			continue
		}
		if c.open != nil {
			batch, body, err := c.open(dict.spare[:0])
			dict.spare = nil
			if err != nil {
				return fmt.Errorf("dictionary %d: %w", f.Dictionary.ID, err)
			}
			c.batch, c.body, c.open = batch, body, nil
			if err := d.hold(dict, len(body)); err != nil {
				return err
			}
		}
		r := bodyReader{batch: c.batch, body: &body{bytes: c.body}, dictionaries: d, unpack: d.unpack}
		a, err := r.read(field, everything)
		if err != nil {
			return fmt.Errorf("dictionary %d: %w", f.Dictionary.ID, err)
		}
		c.values = &a
	}
	return nil
}

// len returns how many values there are, as far as the message says so.
func (c *chunk) len() (n int64, known bool) {
	switch {
	case c.values != nil:
		return int64(c.values.n), true
	case c.batch != nil && len(c.batch.Nodes) > 0:
		return max(0, c.batch.Nodes[0].Length), true
	}
	return 0, false
}

// only returns the values where all of them are in one array, else nil.
func (d *dictionary) only() *array {
	if len(d.chunks) != 1 {
		return nil
	}
	return d.chunks[0].values
}

// at returns the array and the place of a value, nil where there is none.
func (d *dictionary) at(i int64) (*array, int) {
	for c := range d.chunks {
		values := d.chunks[c].values
		if i < int64(values.n) {
			return values, int(i)
		}
		i -= int64(values.n)
	}
	return nil, 0
}
