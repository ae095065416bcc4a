package op

// kindCache is InferKind with a memory: names repeat, and searching one for
// words costs far more than comparing it. Names that share a slot push each
// other out, so that it is bounded without being managed.
type kindCache struct {
	slots [128]struct {
		name string
		kind Kind
		rule KindRule
	}
}

func (c *kindCache) infer(name string) (Kind, KindRule) {
	if name == "" {
		return InferKind(name)
	}
	n := len(name)
	hash := uint(n) + uint(name[n-1])*5 + uint(name[n/2])*31
	slot := &c.slots[hash%uint(len(c.slots))]
	if slot.name != name {
		slot.kind, slot.rule = InferKind(name)
		slot.name = name
	}
	return slot.kind, slot.rule
}
