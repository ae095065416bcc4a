package otlpprofiles

import (
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/opfile"
	"github.com/optrace/optrace/op"
)

// maxProducers bounds the producers whose attributes are kept.
const maxProducers = 1 << 10

// Producers tells the attributes of the resources that operations come from. Where the
// operations of one stacks.Producer have several resources, it tells what these have in
// common. The zero value has seen none.
type Producers struct {
	resource op.Resource
	changed  bool            // resource is another one than that of the last operation
	last     stacks.Producer // of the last operation
	host     string
	all      common
	of       map[stacks.Producer]*common
}

// common are the attributes that all resources have in common, sorted by key.
type common struct {
	any   bool
	attrs []op.Attr
}

func (c *common) add(attrs []op.Attr) {
	if !c.any {
		c.any, c.attrs = true, slices.Clone(attrs)
		return
	}
	c.attrs = slices.DeleteFunc(c.attrs, func(a op.Attr) bool { return !slices.Contains(attrs, a) })
}

// Resource tells the resource of the operations that follow. Nothing of r is kept.
func (p *Producers) Resource(r *op.Resource) {
	if !opfile.SameResource(&p.resource, r) {
		p.resource, p.changed = *r.Clone(), true
	}
}

// Operation takes an operation.
func (p *Producers) Operation(e *op.Entry) {
	who := stacks.ProducerOf(e)
	if p.all.any && !p.changed && who == p.last && e.Host == p.host {
		return
	}
	p.last, p.host, p.changed = who, e.Host, false
	attrs := p.attributes()
	p.all.add(attrs)
	c := p.of[who]
	if c == nil {
		if len(p.of) == maxProducers {
			return
		}
		if p.of == nil {
			p.of = make(map[stacks.Producer]*common)
		}
		c = new(common)
		p.of[who] = c
	}
	c.add(attrs)
}

// attributes returns those of the last operation, sorted by key.
func (p *Producers) attributes() []op.Attr {
	attrs := slices.Clone(p.resource.Attrs)
	set := func(a op.Attr) {
		attrs = slices.DeleteFunc(attrs, func(b op.Attr) bool { return a.Key == b.Key })
		if a.Value != "" {
			attrs = append(attrs, a)
		}
	}
	number := func(key string, n op.Int) {
		if n.Known {
			set(op.Attr{Key: key, Value: strconv.FormatInt(n.V, 10), Type: op.AttrInt})
		}
	}
	set(op.Attr{Key: attrkey.ServiceName, Value: p.last.Service})
	if p.host != "" {
		set(op.Attr{Key: attrkey.HostName, Value: p.host})
	}
	number(attrkey.Rank, p.last.Rank)
	number(attrkey.WorldSize, p.resource.WorldSize)
	slices.SortFunc(attrs, func(a, b op.Attr) int { return strings.Compare(a.Key, b.Key) })
	return attrs
}

// Of returns the attributes of a producer; those that all have in common for one that is not
// known.
func (p *Producers) Of(who stacks.Producer) []op.Attr {
	if c := p.of[who]; c != nil {
		return c.attrs
	}
	return p.all.attrs
}
