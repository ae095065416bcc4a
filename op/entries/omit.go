package entries

import (
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/op"
)

// Omit lets r leave fields out of the entries, as [attrmap.Without] says. It is called
// before anything is read.
func (r *Reader) Omit(fields attrmap.Fields) {
	r.dec.Omitted, r.operation.Whole = fields, nil
	if fields != 0 {
		r.operation.Whole = wholeReader{r}
	}
}

// wholeReader reads the last entry of a Reader once more.
type wholeReader struct{ *Reader }

// ReadWhole implements [op.WholeReader].
func (r wholeReader) ReadWhole() *op.Entry {
	d := &r.dec
	omitted, host := d.Omitted, d.Entry.Host
	d.Omitted = 0
	if d.Canonical(r.line) == 0 {
		// The line has been read before: it is an entry.
		_, _, _ = d.Record(r.line)
	}
	d.Omitted, d.Entry.Host = omitted, host
	return &d.Entry
}
