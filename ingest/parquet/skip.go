package parquet

import (
	"io"

	"github.com/parquet-go/parquet-go/format"
)

// skip passes over rows. Pages of which none is wanted are not decoded.
func (c *column) skip(rows int64) error {
	for {
		if c.pos == c.n {
			if err := c.skipPages(&rows); err != nil || rows == 0 && c.leaf.maxRep == 0 {
				return err
			}
			switch err := c.load(); {
			case err == io.EOF && rows == 0:
				return nil
			case err != nil:
				return c.wrap(err)
			}
		}
		switch {
		case c.allNull():
			k := min(int64(c.n-c.pos), rows)
			c.pos += int(k)
			rows -= k
		case c.leaf.maxRep == 0:
			k := int(min(int64(c.n-c.pos), rows))
			c.next += c.notNull(k)
			c.pos += k
			rows -= int64(k)
		default:
			for ; c.pos < c.n; c.pos++ {
				if c.reps.at(c.pos) == 0 {
					if rows == 0 {
						return nil
					}
					rows--
				}
				if c.defs.at(c.pos) == c.leaf.maxDef {
					c.next++
				}
			}
		}
		if rows == 0 && c.pos < c.n {
			return nil
		}
	}
}

// notNull returns how many of the next k values of the page are not null.
func (c *column) notNull(k int) (n int) {
	if c.defs.list == nil {
		if c.defs.value == c.leaf.maxDef {
			return k
		}
		return 0
	}
	for _, def := range c.defs.list[c.pos : c.pos+k] {
		n += 1 + int((def-c.leaf.maxDef)>>31) // no level is above the highest
	}
	return n
}

// skipPages passes over pages of values that have no more rows than are given, as far as
// their headers tell, and subtracts these.
func (c *column) skipPages(rows *int64) error {
	p := &c.pages
	for *rows > 0 && p.pos < p.end {
		at := p.pos
		h, err := p.header()
		if err != nil {
			return c.wrap(err)
		}
		n := int64(-1)
		switch {
		case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
			n = int64(h.DataPageHeaderV2.V.NumRows)
		case h.Type == format.DataPage && h.DataPageHeader.Valid && c.leaf.maxRep == 0:
			n = int64(h.DataPageHeader.V.NumValues)
		}
		if size := int64(h.CompressedPageSize); n < 0 || n > *rows || size < 0 || size > p.end-p.pos {
			p.pos = at // to be read
			return nil
		}
		p.pos += int64(h.CompressedPageSize)
		*rows -= n
	}
	return nil
}

// present passes over n rows and marks those in which the column has a value or a list.
func (c *column) present(n int, marks *[windowWords]uint64) error {
	row := -1
	for {
		if c.pos == c.n {
			if row == n-1 && c.leaf.maxRep == 0 {
				return nil
			}
			switch err := c.load(); {
			case err == io.EOF && row == n-1:
				return nil
			case err != nil:
				return c.wrap(err)
			}
		}
		if c.allNull() {
			k := min(c.n-c.pos, n-1-row)
			if k == 0 {
				return nil
			}
			c.pos += k
			row += k
			continue
		}
		for ; c.pos < c.n; c.pos++ {
			if c.reps.at(c.pos) == 0 {
				if row == n-1 {
					return nil
				}
				row++
			}
			def := c.defs.at(c.pos)
			if def == c.leaf.maxDef {
				c.next++
			}
			if def > 0 || c.leaf.maxDef == 0 {
				marks[max(0, row)/64] |= 1 << (max(0, row) % 64)
			}
		}
	}
}
