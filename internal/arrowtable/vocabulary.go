package arrowtable

import (
	"math"
	"math/bits"

	"github.com/optrace/optrace/op"
)

// Vocabulary knows the values of operations that come again and again: where they
// stand in the dictionaries of a batch is looked up by number. It serves one table
// at a time.
type Vocabulary struct {
	maxBytes int
	known    *Table // without rows
	// found holds, per column and value of known, its index in the batch.
	found [numColumns][]found
	batch uint64 // the number of the batch
}

// found is the index of a value in the dictionary of a batch, in 16 bits below the
// batch's number.
type found uint64

func newFound(batch uint64, index int16) found { return found(batch<<16 | uint64(uint16(index))) }

func (f found) batch() uint64 { return uint64(f >> 16) }
func (f found) index() int16  { return int16(f) }

// NewVocabulary returns an empty vocabulary that takes at most maxBytes.
func NewVocabulary(maxBytes int) *Vocabulary {
	return &Vocabulary{maxBytes: maxBytes, known: NewTable(), batch: 1}
}

// Begin begins a batch.
func (v *Vocabulary) Begin() { v.batch++ }

// Template is the combination of an operation that a vocabulary has learned.
type Template struct {
	columns uint64      // a bit for each in which it is not null
	values  combination // indexes of the vocabulary
	// number is that of the combination in the batch with the number.
	number int
	batch  uint64
}

const (
	// maxKnown bounds the values of a column.
	maxKnown = math.MaxInt16
	// spare is how many times the memory of what they hold lists and maps take at
	// most, with found.
	spare = 2
)

// Full reports whether the vocabulary learns no more.
func (v *Vocabulary) Full() bool {
	if spare*v.known.bytes >= v.maxBytes {
		return true
	}
	for _, d := range v.known.dicts {
		if d != nil && d.values.n >= maxKnown {
			return true
		}
	}
	return false
}

// Learn returns the template of e: of all but what nearly every operation has of its
// own, which [Table.AppendOperation] is told. The vocabulary must not be full.
func (v *Vocabulary) Learn(e *op.Entry) Template {
	t := Template{values: v.known.entry(e)}
	for col, index := range t.values {
		if index == isNull {
			continue
		}
		t.columns |= 1 << col
		if v.known.dicts[col] != nil {
			missing := int(index) + 1 - len(v.found[col])
			v.found[col] = append(v.found[col], make([]found, max(0, missing))...)
		}
	}
	return t
}

// Operation is what nearly every operation has of its own.
type Operation struct {
	Start, Duration int64 // in ns
	Step, Launch    op.Int
	Device          string
	TraceID         op.TraceID
	SpanID          op.SpanID
	ParentSpanID    op.SpanID
	Root            string
	RootSpanID      op.SpanID
}

// AppendOperation appends a row for an operation of a template of v. Start, duration
// and span id are known.
func (t *Table) AppendOperation(rows []byte, v *Vocabulary, k *Template, o *Operation) []byte {
	if k.batch != v.batch {
		k.batch, k.number = v.batch, t.use(v, k)
	}
	if o.Launch.Known {
		t.launches = append(t.launches, launch{t.rows, o.Launch.V})
	}
	return t.appendRow(rows, &row{
		start: o.Start, duration: o.Duration, spanID: o.SpanID, flags: hasStart | hasDuration | hasSpanID,
		combination: k.number, step: t.dicts[colStep].int(o.Step), device: t.dicts[colDeviceID].text(o.Device),
		place: t.locate(&o.TraceID, &o.ParentSpanID, o.Root, &o.RootSpanID),
	})
}

// use adds the combination of a template and returns its number.
func (t *Table) use(v *Vocabulary, k *Template) int {
	number := t.combinations.n
	for left := k.columns; left != 0; left &= left - 1 {
		col := bits.TrailingZeros64(left)
		index, d := k.values[col], t.dicts[col]
		if d != nil {
			f := &v.found[col][index]
			if f.batch() != v.batch {
				*f = newFound(v.batch, d.take(v.known.dicts[col], index))
			}
			index = f.index()
		}
		t.combinations.set(col, number, index)
	}
	t.combinations.n++
	t.bytes += combinationBytes
	return number
}
