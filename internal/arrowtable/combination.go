package arrowtable

import (
	"math"
	"slices"

	"github.com/optrace/optrace/op"
)

// combination holds the values of a row but for those that nearly every row has of
// its own: for each column with a dictionary an index, for each of booleans 0 or 1.
// The columns of a row's own values are null in it.
type combination [numColumns]int16

// combinationBytes is the size of a combination.
const combinationBytes = 2 * numColumns

// combinations are those of a batch, by column: the indexes of each as far as the last
// one that is not null.
type combinations struct {
	n       int
	columns [numColumns][]int16
}

func (c *combinations) reset() {
	c.n = 0
	for i := range c.columns {
		c.columns[i] = c.columns[i][:0]
	}
}

// add adds a combination, and returns its number.
func (c *combinations) add(of *combination) (number int) {
	for col, index := range of {
		if index != isNull {
			c.set(col, c.n, index)
		}
	}
	c.n++
	return c.n - 1
}

// set sets an index of the last combination, or of the one that follows.
func (c *combinations) set(col, number int, index int16) {
	column := c.columns[col]
	for len(column) < number {
		column = append(column, isNull)
	}
	c.columns[col] = append(column[:number], index)
}

// column returns the indexes of all combinations in a column.
func (c *combinations) column(col int) []int16 {
	for len(c.columns[col]) < c.n {
		c.columns[col] = append(c.columns[col], isNull)
	}
	return c.columns[col]
}

// areZero reports whether all combinations have index 0 in a column.
func (c *combinations) areZero(col int) bool {
	column := c.columns[col]
	return len(column) == c.n && !slices.ContainsFunc(column, func(index int16) bool { return index != 0 })
}

var nothing = func() (c combination) {
	for i := range c {
		c[i] = isNull
	}
	return c
}()

func bit(v bool) int16 {
	if v {
		return 1
	}
	return 0
}

func (t *Table) text(c *combination, col int, s string) { c[col] = t.dicts[col].text(s) }

func (t *Table) int(c *combination, col int, n op.Int) { c[col] = t.dicts[col].int(n) }

// entry returns the combination of an entry.
func (t *Table) entry(e *op.Entry) combination {
	c := nothing
	t.text(&c, colRecord, "entry")
	t.text(&c, colOperation, e.Operation)
	t.shapes(&c, e.InputShapes)
	t.shape(&c, e.OutputShape)
	t.int(&c, colOutputElements, e.OutputElements)
	t.int(&c, colMemoryBytes, e.MemoryBytes)
	t.text(&c, colKind, e.Kind.String())
	t.text(&c, colKindRule, e.KindRule.String())
	t.text(&c, colDType, string(e.DType))
	t.int(&c, colStream, e.Stream)
	t.int(&c, colRank, e.Rank)
	t.int(&c, colFLOPs, e.FLOPs)
	t.text(&c, colService, e.Service)
	t.text(&c, colScope, e.Scope)
	t.text(&c, colPath, e.Path)
	t.dtypes(&c, e.InputDTypes)
	t.text(&c, colSide, e.Side.String())
	c[colFailed] = bit(e.Failed)
	t.text(&c, colError, e.Error)
	if e.AdjustedCount != 0 {
		c[colAdjustedCount] = t.dicts[colAdjustedCount].number(int64(math.Float64bits(e.AdjustedCount)))
	}
	t.int(&c, colDroppedAttributes, op.Known(e.DroppedAttributes))
	t.attrs(&c, e.Attrs)
	t.warnings(&c, e.Warn)
	t.collective(&c, e.Collective)
	t.links(&c, e.Links)
	t.extra(&c, e.Attrs, e.Links, e.Extra)
	return c
}

func (t *Table) span(s *op.Span) combination {
	c := nothing
	t.text(&c, colRecord, "span")
	t.text(&c, colName, s.Name)
	c[colParentRemote] = bit(s.RemoteParent)
	t.text(&c, colService, s.Service)
	c[colFailed] = bit(s.Failed)
	t.attrs(&c, s.Attrs)
	t.links(&c, s.Links)
	t.extra(&c, s.Attrs, s.Links, s.Extra)
	return c
}

func (t *Table) resource(r *op.Resource) combination {
	c := nothing
	t.text(&c, colRecord, "resource")
	t.text(&c, colService, r.Service)
	t.int(&c, colRank, r.Rank)
	t.int(&c, colWorldSize, r.WorldSize)
	t.attrs(&c, r.Attrs)
	t.extra(&c, r.Attrs, nil, nil)
	return c
}

func (t *Table) gap(g *op.Gap) combination {
	c := nothing
	t.text(&c, colRecord, "gap")
	d := t.dicts[colGap]
	d.begin()
	d.addNumber(g.Dropped)
	d.addText(g.Reason)
	var isNew bool
	if c[colGap], isNew = d.encoded(); isNew {
		d.values.children[0].addNumber(g.Dropped)
		addTextUnlessEmpty(d.values.children[1], g.Reason)
		d.values.endGroup()
	}
	return c
}

func (t *Table) batch(b *op.Batch) combination {
	c := nothing
	t.text(&c, colRecord, "batch")
	d := t.dicts[colBatch]
	d.begin()
	d.addNumber(b.Sequence)
	d.addNumber(b.Entries)
	d.addText(b.Writer)
	var isNew bool
	if c[colBatch], isNew = d.encoded(); isNew {
		d.values.children[0].addText(b.Writer)
		d.values.children[1].addNumber(b.Sequence)
		d.values.children[2].addNumber(b.Entries)
		d.values.endGroup()
	}
	return c
}
