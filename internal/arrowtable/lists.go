package arrowtable

import "github.com/optrace/optrace/op"

// shape sets the column of output shapes, unless s is not known.
func (t *Table) shape(c *combination, s op.Shape) {
	if s == nil {
		return
	}
	d := t.dicts[colOutputShape]
	d.begin()
	d.addShape(s)
	i, isNew := d.encoded()
	c[colOutputShape] = i
	if isNew {
		addShape(d.values, s)
	}
}

func addShape(a *array, s op.Shape) {
	if s == nil {
		a.null()
		return
	}
	items := a.children[0]
	for _, dim := range s {
		items.addNumber(items.dims.index(dim))
	}
	a.endList()
}

// shapes sets the column of input shapes, unless nothing is known of them.
func (t *Table) shapes(c *combination, shapes []op.Shape) {
	if shapes == nil {
		return
	}
	d := t.dicts[colInputShapes]
	d.begin()
	d.addCount(len(shapes))
	for _, s := range shapes {
		d.addShape(s)
	}
	i, isNew := d.encoded()
	c[colInputShapes] = i
	if isNew {
		for _, s := range shapes {
			addShape(d.values.children[0], s)
		}
		d.values.endList()
	}
}

func (t *Table) dtypes(c *combination, dtypes []op.DType) {
	if dtypes == nil {
		return
	}
	d := t.dicts[colInputDTypes]
	d.begin()
	d.addCount(len(dtypes))
	for _, t := range dtypes {
		d.addText(string(t))
	}
	i, isNew := d.encoded()
	c[colInputDTypes] = i
	if isNew {
		for _, t := range dtypes {
			d.values.children[0].addText(string(t))
		}
		d.values.endList()
	}
}

func (t *Table) attrs(c *combination, attrs []op.Attr) {
	if len(attrs) == 0 {
		return
	}
	d := t.dicts[colAttrs]
	d.begin()
	for i := range attrs {
		d.addText(attrs[i].Key)
		d.addText(attrs[i].Value)
	}
	i, isNew := d.encoded()
	c[colAttrs] = i
	if isNew {
		pairs := d.values.children[0]
		for i := range attrs {
			pairs.children[0].addText(attrs[i].Key)
			pairs.children[1].addText(attrs[i].Value)
			pairs.endGroup()
		}
		d.values.endList()
	}
}

func (t *Table) warnings(c *combination, set op.Warning) {
	if set == 0 {
		return
	}
	d := t.dicts[colWarn]
	d.begin()
	d.addNumber(int64(set))
	i, isNew := d.encoded()
	c[colWarn] = i
	if isNew {
		for w := range set.All() {
			if name := w.String(); name != "" {
				d.values.children[0].addText(name)
			}
		}
		d.values.endList()
	}
}

func (t *Table) collective(c *combination, v *op.Collective) {
	if v == nil {
		return
	}
	numbers := [...]op.Int{v.GroupSize, v.Sequence, v.PeerRank, v.InElements, v.OutElements}
	d := t.dicts[colCollective]
	d.begin()
	for _, n := range numbers {
		d.addInt(n)
	}
	d.addText(v.Name)
	d.addText(v.Group)
	i, isNew := d.encoded()
	c[colCollective] = i
	if !isNew {
		return
	}
	addTextUnlessEmpty(d.values.children[0], v.Name)
	addTextUnlessEmpty(d.values.children[1], v.Group)
	for i, n := range numbers {
		addInt(d.values.children[2+i], n)
	}
	d.values.endGroup()
}

// extra sets the column of what no other column holds, unless there is nothing.
func (t *Table) extra(c *combination, attrs []op.Attr, links []op.Link, x *op.Extra) {
	d := t.dicts[colExtra]
	d.key = op.AppendRest(d.key[:0], attrs, links, x)
	if len(d.key) == 0 {
		return
	}
	i, isNew := d.encoded()
	c[colExtra] = i
	if isNew {
		d.values.addText(string(d.key))
	}
}

func (t *Table) links(c *combination, links []op.Link) {
	if len(links) == 0 {
		return
	}
	d := t.dicts[colLinks]
	d.begin()
	for i := range links {
		l := &links[i]
		d.key = append(append(d.key, l.TraceID[:]...), l.SpanID[:]...)
		d.addInt(l.Weight)
	}
	i, isNew := d.encoded()
	c[colLinks] = i
	if !isNew {
		return
	}
	items := d.values.children[0]
	for i := range links {
		l := &links[i]
		items.children[0].addHex(l.TraceID[:])
		items.children[1].addNumber(spanNumber(l.SpanID[:]))
		addInt(items.children[2], l.Weight)
		items.endGroup()
	}
	d.values.endList()
}

func addInt(a *array, n op.Int) {
	if n.Known {
		a.addNumber(n.V)
	} else {
		a.null()
	}
}

func addTextUnlessEmpty(a *array, s string) {
	if s == "" {
		a.null()
	} else {
		a.addText(s)
	}
}
