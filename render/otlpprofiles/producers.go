package otlpprofiles

import (
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

const maxProducers = 1 << 10 // bounds the producers with attributes of their own

// Producers collects the resource attributes of producers of operations. If the operations of one stacks.Producer have
// several resources, it keeps the common attributes. The zero value is ready to use.
type Producers struct {
	resource op.Resource
	changed  bool            // resource differs from the last operation's
	last     stacks.Producer // of the last operation
	host     string
	// all has the attributes common to all resources, sorted by key, of the attributes of each producer; of is nil at
	// first.
	all []op.Attr
	of  map[stacks.Producer][]op.Attr
}

// common returns the common elements of attrs and others, or others if first is set.
func common(first bool, attrs, others []op.Attr) []op.Attr {
	if first {
		return slices.Clone(others)
	}
	return slices.DeleteFunc(attrs, func(a op.Attr) bool { return !slices.Contains(others, a) })
}

// Resource sets the resource of the following operations. It does not retain r.
func (p *Producers) Resource(r *op.Resource) {
	if !opfile.SameResource(&p.resource, r) {
		p.resource = *r.Clone()
		p.changed = true
	}
}

// Operation takes an operation.
func (p *Producers) Operation(e *op.Entry) {
	who := stacks.ProducerOf(e)
	if p.of != nil && !p.changed && who == p.last && e.Host == p.host {
		return
	}
	p.last = who
	p.host = e.Host
	p.changed = false
	attrs := p.attributes()
	p.all = common(p.of == nil, p.all, attrs)
	if p.of == nil {
		p.of = make(map[stacks.Producer][]op.Attr)
	}
	if own, known := p.of[who]; known || len(p.of) < maxProducers {
		p.of[who] = common(!known, own, attrs)
	}
}

func (p *Producers) attributes() []op.Attr {
	attrs := opmodel.AppendText(nil, attrkey.ServiceName, p.last.Service)
	attrs = opmodel.AppendText(attrs, attrkey.HostName, p.host)
	attrs = opmodel.AppendInt(attrs, attrkey.Rank, p.last.Rank)
	attrs = opmodel.AppendInt(attrs, attrkey.WorldSize, p.resource.WorldSize)
	for _, a := range p.resource.Attrs {
		if a.Key != attrkey.ServiceName && opmodel.FindAttr(attrs, a.Key) == nil {
			attrs = append(attrs, a)
		}
	}
	slices.SortFunc(attrs, func(a, b op.Attr) int { return strings.Compare(a.Key, b.Key) })
	return attrs
}

// Of returns the attributes of a producer. For an unknown one it returns the attributes common to all.
func (p *Producers) Of(who stacks.Producer) []op.Attr {
	if attrs, known := p.of[who]; known {
		return attrs
	}
	return p.all
}
