package parquet

import (
	"github.com/optrace/optrace/ingest/internal/rows"
)

// windowReader reads single rows of a window.
type windowReader struct {
	columnReader
	// fill gives a row the value that a column of the window has of it. It is nil where
	// there is no such column, and reports false where that has not all.
	fill func(r *rows.Row, i int) bool

	next  int64 // the row of the row group that the column stands at
	first int64 // the first row of the last window of which rows were read
	start place // of that row
}

// place is a place in a page.
type place struct {
	page      int64 // the end of the page in the file
	pos, next int   // as in column
}

// row returns a row of the window that has the values of some readers at least.
func (b *block) row(i int, readers []int) *rows.Row {
	b.read(i, i+1, readers)
	return &b.list[i]
}

// read gives the rows of the window from the i-th up to, and without, the j-th the values of
// some readers.
func (b *block) read(i, j int, readers []int) {
	for k := i; k < j; k++ {
		if b.started[k/64]>>(k%64)&1 == 0 {
			b.started[k/64] |= 1 << (k % 64)
			b.list[k] = rows.Row{Batch: b.batch}
		}
	}
	for _, k := range readers {
		if b.err == nil {
			b.err = b.byReader[k].read(b.group, b.first, i, b.list[:j])
		}
	}
}

// read gives the rows of a window, from the i-th on, their values.
func (w *windowReader) read(g *rowGroup, first int64, i int, list []rows.Row) error {
	for ; i < len(list) && w.fill != nil && w.fill(&list[i], i); i++ {
	}
	if i == len(list) {
		return nil
	}
	if err := w.turnTo(g, first, i); err != nil {
		return err
	}
	n, err := w.safeRead(list[i:])
	w.next = first + int64(i+n)
	return err
}

// turnTo turns the column to the i-th row of the window that starts at a row.
func (w *windowReader) turnTo(g *rowGroup, first int64, i int) error {
	c := w.column
	return c.safely(func() error {
		switch {
		case w.first == first && w.start.page == c.pages.pos:
			c.pos, c.next = w.start.pos, w.start.next
			return c.skip(int64(i))
		case w.next > first: // from the start, as the page is no longer there
			c.start(&g.Columns[w.chunk], g.Rows)
			w.next = 0
		}
		if err := c.skip(first - w.next); err != nil {
			return err
		}
		w.next = first
		if err := c.load(); err != nil {
			return c.wrap(err)
		}
		w.first, w.start = first, place{c.pages.pos, c.pos, c.next}
		return c.skip(int64(i))
	})
}
