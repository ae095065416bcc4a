package recall

const (
	slabEntries = 64
	chunkBytes  = 64 << 10
)

// pool keeps texts and values in the order in which they came. A program that
// runs the same operations again runs them in the same order: what is needed
// next then lies next in memory.
type pool[V any] struct {
	slabs []*[slabEntries]entry[V]
	chunk []byte // where the next texts go
	n     int
	bytes int // of all texts
}

type entry[V any] struct {
	text  []byte
	hash  uint64
	next  int32 // the index of the text that came after it, 0 for none
	value V
}

// add copies e and its text, and returns its index, from 1.
func (p *pool[V]) add(e entry[V]) int32 {
	if len(p.chunk)+len(e.text) > cap(p.chunk) {
		p.chunk = make([]byte, 0, chunkBytes)
	}
	start := len(p.chunk)
	p.chunk = append(p.chunk, e.text...)
	e.text = p.chunk[start:len(p.chunk):len(p.chunk)]
	if p.n%slabEntries == 0 {
		p.slabs = append(p.slabs, new([slabEntries]entry[V]))
	}
	p.slabs[p.n/slabEntries][p.n%slabEntries] = e
	p.bytes += len(e.text)
	p.n++
	return int32(p.n)
}

func (p *pool[V]) at(index int32) *entry[V] {
	i := int(index - 1)
	return &p.slabs[i/slabEntries][i%slabEntries]
}
