package pdataop

import (
	"hash/maphash"
	"math/bits"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/op/attr"
)

// Fingerprint stands for the attributes of a span, as far as they matter to its entry.
// Different ones have the same fingerprint with a probability of about 2^-64 for each
// text in them: the seeds are random.
type Fingerprint [2]uint64

// Fingerprints finds the fingerprints of spans. It is used by one goroutine at a time.
//
// Programs write the attributes of their spans in few orders: the key that followed the
// previous one last is tried first, and hardly any has to be looked up.
type Fingerprints struct {
	builder *attrmap.Builder // of no spans; it knows which keys matter
	seed    maphash.Seed
	factors [2]uint64
	keys    map[string]*key
	first   key // in front of the first key of a span
}

// key is an attribute key that spans have had.
type key struct {
	text   string
	number uint64 // tells it from others
	wanted bool   // its values matter
	named  bool   // it is the name of an operation
	next   *key   // the one that followed it last
}

// The bounds of the keys that are remembered. Keys are few and short, unless something
// writes values into them.
const (
	maxKeys    = 1 << 12
	maxKeyText = 1 << 9
)

// NewFingerprints returns Fingerprints for spans that are read as m says.
func NewFingerprints(m *attr.Mapping) *Fingerprints {
	seed := maphash.MakeSeed()
	random := func(name string) uint64 { return maphash.String(seed, name) | 1 }
	return &Fingerprints{
		builder: attrmap.NewOmittingBuilder(m), seed: seed, factors: [2]uint64{random("first"), random("second")},
		keys: make(map[string]*key),
	}
}

// Of returns the fingerprint of a span, or false where it has values that are too
// unusual for one. Spans with different numbers have different ones.
func (f *Fingerprints) Of(s ptrace.Span, number uint64) (p Fingerprint, ok bool) {
	p = f.factors
	f.mix(&p, number)
	at, named := &f.first, false
	for text, v := range s.Attributes().All() {
		next := at.next
		if next == nil || next.text != text {
			if next = f.key(text); next == nil {
				return p, false
			}
			at.next = next
		}
		at = next
		if !at.wanted {
			f.mix(&p, at.number)
			continue
		}
		if !f.value(&p, at.number, v, 0) {
			return p, false
		}
		named = named || at.named && v.Type() == pcommon.ValueTypeStr && v.Str() != ""
	}
	if !named {
		f.mix(&p, maphash.String(f.seed, s.Name()))
	}
	return p, true
}

// key returns a key, nil for one that is too long.
func (f *Fingerprints) key(text string) *key {
	if k := f.keys[text]; k != nil {
		return k
	}
	if len(text) > maxKeyText {
		return nil
	}
	if len(f.keys) >= maxKeys {
		clear(f.keys)
		f.first.next = nil
	}
	k := &key{text: string([]byte(text)), number: maphash.String(f.seed, text), named: text == attrkey.Name}
	k.wanted = f.builder.Target(text).Wanted()
	f.keys[k.text] = k
	return k
}

// maxDepth is how deep lists are looked into: shapes need two levels.
const maxDepth = 4

// value mixes in a value of the key with a number. It reports false for a value that is
// too unusual.
func (f *Fingerprints) value(p *Fingerprint, number uint64, v pcommon.Value, depth int) bool {
	t := v.Type()
	number += uint64(t)
	switch t {
	case pcommon.ValueTypeStr:
		f.mix(p, number^maphash.String(f.seed, v.Str()))
	case pcommon.ValueTypeInt:
		f.mix(p, number^uint64(v.Int()))
	case pcommon.ValueTypeSlice:
		if depth == maxDepth {
			return false
		}
		list := v.Slice()
		f.mix(p, number^uint64(list.Len()))
		for i := range list.Len() {
			if !f.value(p, number, list.At(i), depth+1) {
				return false
			}
		}
	default:
		return false
	}
	return true
}

func (f *Fingerprints) mix(p *Fingerprint, word uint64) {
	p[0] = fold(p[0]^word, f.factors[0])
	p[1] = fold(p[1]^word, f.factors[1])
}

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}
