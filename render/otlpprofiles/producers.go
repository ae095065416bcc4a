package otlpprofiles

import (
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/op"
)

// Producers tells what the resources of operations have in common: the attributes that all
// of them have, with the same values. The zero value has seen none.
type Producers struct {
	resource op.Resource
	changed  bool // resource is another one than that of the last operation
	any      bool
	service  string // of the last operation, as are the others
	host     string
	rank     op.Int
	common   []op.Attr
}

// Resource tells the resource of the operations that follow. Nothing of r is kept.
func (p *Producers) Resource(r *op.Resource) {
	if !p.resource.Same(r) {
		p.resource, p.changed = *r.Clone(), true
	}
}

// Operation takes an operation.
func (p *Producers) Operation(e *op.Entry) {
	if p.any && !p.changed && e.Service == p.service && e.Host == p.host && e.Rank == p.rank {
		return
	}
	p.service, p.host, p.rank, p.changed = e.Service, e.Host, e.Rank, false
	attrs := p.attributes()
	if !p.any {
		p.common, p.any = attrs, true
		return
	}
	p.common = slices.DeleteFunc(p.common, func(a op.Attr) bool { return !slices.Contains(attrs, a) })
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
	set(op.Attr{Key: op.KeyServiceName, Value: p.service})
	if p.host != "" {
		set(op.Attr{Key: op.KeyHostName, Value: p.host})
	}
	number(op.KeyRank, p.rank)
	number(op.KeyWorldSize, p.resource.WorldSize)
	slices.SortFunc(attrs, func(a, b op.Attr) int { return strings.Compare(a.Key, b.Key) })
	return attrs
}

// Common returns the attributes that the resources of all operations have in common, sorted
// by key.
func (p *Producers) Common() []op.Attr { return p.common }
