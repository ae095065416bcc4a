package op

// keyTarget is a line of the table of conventions.
type keyTarget struct {
	key    string
	target target
}

// keyIndex finds keys in a hash table of its own: every attribute of every
// span is looked up, and hashing three bytes of the key costs a third of what a
// map does. It is immutable once built.
type keyIndex struct {
	slots [256]keyTarget
}

// newKeyIndex returns the index of a table with few keys against the slots.
func newKeyIndex(table []keyTarget) *keyIndex {
	x := &keyIndex{}
	for _, kt := range table {
		i := keyHash(kt.key)
		for x.slots[i].key != "" {
			i++
		}
		kt.target.says = signsOf(kt.target.field, kt.target.family)
		x.slots[i] = kt
	}
	return x
}

// keyHash mixes what the keys of the conventions differ in: the length, and
// the bytes behind the namespaces they share.
func keyHash(key string) uint8 {
	n := len(key)
	return uint8(n)*7 + key[n-1]*29 + key[n/2]*13 + key[n*3/4]
}

// find returns what key maps to, nil where it is not in the table.
func (x *keyIndex) find(key string) *target {
	if key == "" {
		return nil
	}
	for i := keyHash(key); x.slots[i].key != ""; i++ {
		if x.slots[i].key == key {
			return &x.slots[i].target
		}
	}
	return nil
}
