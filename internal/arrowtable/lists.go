package arrowtable

import "github.com/optrace/optrace/op"

// shape sets the column of output shapes, unless s is not known.
func (b *Builder) shape(s op.Shape) {
	if s == nil {
		return
	}
	d := b.dicts[colOutputShape]
	d.begin()
	d.shape(s)
	if d.isNew(b.rows) {
		addShape(d.values, s)
	}
}

func addShape(a *array, s op.Shape) {
	if s == nil {
		a.null()
		return
	}
	for _, dim := range s {
		a.children[0].addNumber(dim)
	}
	a.endList()
}

// shapes sets the column of input shapes, unless nothing is known of them.
func (b *Builder) shapes(shapes []op.Shape) {
	if shapes == nil {
		return
	}
	d := b.dicts[colInputShapes]
	d.begin()
	d.count(len(shapes))
	for _, s := range shapes {
		d.shape(s)
	}
	if d.isNew(b.rows) {
		for _, s := range shapes {
			addShape(d.values.children[0], s)
		}
		d.values.endList()
	}
}

func (b *Builder) dtypes(dtypes []op.DType) {
	if dtypes == nil {
		return
	}
	d := b.dicts[colInputDTypes]
	d.begin()
	d.count(len(dtypes))
	for _, t := range dtypes {
		d.text(string(t))
	}
	if d.isNew(b.rows) {
		for _, t := range dtypes {
			d.values.children[0].addText(string(t))
		}
		d.values.endList()
	}
}

func (b *Builder) attrs(attrs []op.Attr) {
	if len(attrs) == 0 {
		return
	}
	d := b.dicts[colAttrs]
	d.begin()
	for i := range attrs {
		d.text(attrs[i].Key)
		d.text(attrs[i].Value)
	}
	if d.isNew(b.rows) {
		pairs := d.values.children[0]
		for i := range attrs {
			pairs.children[0].addText(attrs[i].Key)
			pairs.children[1].addText(attrs[i].Value)
			pairs.endGroup()
		}
		d.values.endList()
	}
}

func (b *Builder) warnings(set op.Warning) {
	if set == 0 {
		return
	}
	d := b.dicts[colWarn]
	d.begin()
	d.number(int64(set))
	if d.isNew(b.rows) {
		for w := range set.All() {
			if name := w.String(); name != "" {
				d.values.children[0].addText(name)
			}
		}
		d.values.endList()
	}
}

func (b *Builder) collective(c *op.Collective) {
	if c == nil {
		return
	}
	numbers := [...]op.Int{c.GroupSize, c.Sequence, c.PeerRank, c.InElements, c.OutElements}
	d := b.dicts[colCollective]
	d.begin()
	for _, n := range numbers {
		d.int(n)
	}
	d.text(c.Name)
	d.text(c.Group)
	if !d.isNew(b.rows) {
		return
	}
	addTextUnlessEmpty(d.values.children[0], c.Name)
	addTextUnlessEmpty(d.values.children[1], c.Group)
	for i, n := range numbers {
		addInt(d.values.children[2+i], n)
	}
	d.values.endGroup()
}

// extra sets the column of what no other column holds, unless there is nothing.
func (b *Builder) extra(attrs []op.Attr, links []op.Link, x *op.Extra) {
	d := b.dicts[colExtra]
	d.key = op.AppendRest(d.key[:0], attrs, links, x)
	if len(d.key) > 0 && d.isNew(b.rows) {
		d.values.addText(string(d.key))
	}
}

func (b *Builder) links(links []op.Link) {
	if len(links) == 0 {
		return
	}
	d := b.dicts[colLinks]
	d.begin()
	for i := range links {
		l := &links[i]
		d.key = append(append(d.key, l.TraceID[:]...), l.SpanID[:]...)
		d.int(l.Weight)
	}
	if !d.isNew(b.rows) {
		return
	}
	items := d.values.children[0]
	for i := range links {
		l := &links[i]
		items.children[0].addHex(l.TraceID[:])
		items.children[1].addHex(l.SpanID[:])
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
