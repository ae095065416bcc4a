package kineto

import (
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/op"
)

// argument is the meaning of an argument's key: the destination of its value.
type argument struct {
	number   func(a *arguments) *op.Int
	counts   bool // a number cannot be negative
	text     func(c *collective, s string)
	json     func(a *arguments) *[]byte
	geometry bool // one of geometry
	graph    bool // 0 is no graph
}

// geometry lists the arguments of a kernel's launch. Entries have them as attributes.
var geometry = [...]string{
	attrkey.Grid, attrkey.Block, attrkey.Registers, attrkey.SharedMemory, attrkey.Occupancy, attrkey.Graph,
	attrkey.GraphNode,
}

// meanings has the known keys.
var meanings = makeMeanings()

func makeMeanings() map[string]argument {
	number := func(at func(a *arguments) *op.Int) argument { return argument{number: at} }
	counts := func(at func(a *arguments) *op.Int) argument { return argument{number: at, counts: true} }
	text := func(set func(c *collective, s string)) argument { return argument{text: set} }
	json := func(at func(a *arguments) *[]byte) argument { return argument{json: at} }
	external := number(func(a *arguments) *op.Int { return &a.external })
	dims := json(func(a *arguments) *[]byte { return &a.dims })
	all := map[string]argument{
		"correlation":     number(func(a *arguments) *op.Int { return &a.correlation }),
		"External id":     external,
		"external id":     external,
		"device":          number(func(a *arguments) *op.Int { return &a.device }),
		"stream":          number(func(a *arguments) *op.Int { return &a.stream }),
		"bytes":           counts(func(a *arguments) *op.Int { return &a.bytes }),
		"size":            counts(func(a *arguments) *op.Int { return &a.size }),
		"Input Dims":      dims,
		"Input dims":      dims,
		"Input type":      json(func(a *arguments) *[]byte { return &a.types }),
		"Concrete Inputs": json(func(a *arguments) *[]byte { return &a.concrete }),
		"Collective name": text(func(c *collective, s string) { c.Name = s }),
		"dtype": text(func(c *collective, s string) {
			if d, ok := op.ParseDType(s); ok {
				c.dtype = d
			}
		}),
		"Process Group Name": text(func(c *collective, s string) { c.Group = s }),
		"Group size":         counts(func(a *arguments) *op.Int { return &a.collective.GroupSize }),
		"Seq":                number(func(a *arguments) *op.Int { return &a.collective.Sequence }),
		"In msg nelems":      counts(func(a *arguments) *op.Int { return &a.collective.InElements }),
		"Out msg nelems":     counts(func(a *arguments) *op.Int { return &a.collective.OutElements }),
		"Rank":               counts(func(a *arguments) *op.Int { return &a.peer }),
		"Src Rank":           counts(func(a *arguments) *op.Int { return &a.source }),
		"Dst Rank":           counts(func(a *arguments) *op.Int { return &a.target }),
		"Sequence number":    counts(func(a *arguments) *op.Int { return &a.autograd }),
		"Fwd thread id":      counts(func(a *arguments) *op.Int { return &a.forward }),
	}
	for _, key := range geometry {
		all[key] = argument{geometry: true, graph: key == attrkey.Graph || key == attrkey.GraphNode}
	}
	return all
}

type argumentKey struct {
	name string
	argument
	wanted bool // by the mapping, and not in geometry
}

// argumentKeys looks up keys. It is a direct-mapped cache: a trace has a few dozen keys.
type argumentKeys struct {
	wants func(key string) bool
	slots [1 << keyBits]argumentKey
	other argumentKey
}

const (
	keyBits   = 9
	maxKeyLen = 64 // of cached keys
)

// find returns the entry of a key, valid until the next call. Kineto's meaning of "device" and of geometry takes
// precedence over the mapping's.
func (k *argumentKeys) find(key []byte) *argumentKey {
	found := &k.other
	if 0 < len(key) && len(key) <= maxKeyLen {
		found = &k.slots[intern.Hash(key)>>(64-keyBits)]
		if found.name == string(key) {
			return found
		}
	}
	name := string(key)
	*found = argumentKey{name: name, argument: meanings[name]}
	found.wanted = name != "device" && !found.geometry && k.wants(name)
	return found
}
