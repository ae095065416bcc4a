package opmodel

import (
	"github.com/optrace/optrace/op"
)

// UsualRule returns the usual rule for a kind. Files state the rule for collectives only.
func UsualRule(k op.Kind) op.KindRule {
	switch k {
	case op.KindCompute:
		return op.RuleDefault
	case op.KindMemory:
		return op.RuleName
	}
	return op.RuleAttribute
}

const maxCachedName = 512

// KindCache is a cache of [op.InferKind]: names repeat, and comparing them is far cheaper than searching for words.
type KindCache struct {
	slots [128]struct {
		name string
		kind op.Kind
		rule op.KindRule
	}
}

// Infer is [op.InferKind].
func (c *KindCache) Infer(name string) (op.Kind, op.KindRule) {
	n := len(name)
	if n == 0 || n > maxCachedName {
		return op.InferKind(name)
	}
	i := (uint(n) + uint(name[n-1])*5 + uint(name[n/2])*31) % uint(len(c.slots))
	slot := &c.slots[i]
	if slot.name != name {
		other := &c.slots[i^1]
		if other.name != name {
			other.kind, other.rule = op.InferKind(name)
			other.name = name
		}
		*slot, *other = *other, *slot
	}
	return slot.kind, slot.rule
}
