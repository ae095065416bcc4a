package attrcache

import (
	"math/bits"
	"math/rand/v2"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/record/span"
)

// fingerprint identifies the attributes of a key by their memory, without the pointed-to content and without the
// values of varying ones. Different attributes collide with a probability of about 2^-120: the seeds are random. A
// cache keeps the strings and lists of its entries alive; their addresses stay theirs.
type fingerprint [2]uint64

// seeds makes fingerprints differ from one cache to another.
type seeds [4]uint64

func newSeeds() seeds { return seeds{rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64()} }

// of returns the fingerprint of k. It reports false for a very long text, an unusual address or an unknown type.
func (s *seeds) of(k *Key) (f fingerprint, ok bool) {
	const (
		lengthAt = addressBits
		typeAt   = 58
		maxKey   = 1 << (typeAt - lengthAt)
		maxText  = 1 << (64 - lengthAt)
	)
	a := s[0]
	b := s[1]
	for i := range k.Attrs {
		kv := &k.Attrs[i]
		name := string(kv.Key)
		typ := kv.Value.Type()
		number, text, list := span.Words(&kv.Value)
		nameAt := address(name)
		textAt := address(text)
		if len(name) >= maxKey || len(text) >= maxText || uint(typ) > uint(attribute.MAP) || areWide(nameAt, textAt) {
			return f, false
		}
		key := nameAt ^ uint64(len(name))<<lengthAt ^ uint64(typ)<<typeAt
		// A value has only one of the three.
		value := number ^ textAt ^ uint64(len(text))<<lengthAt ^ uint64(list)
		if k.Varying.Is(i) {
			value = 0
		}
		a = fold(a^value, s[2]^key)
		b = fold(b^key, s[3]^value)
	}
	return fingerprint{a, b}, true
}

// addressBits is the number of significant bits of an address. Lengths and types take the place of the bits above.
const addressBits = 48

// areWide reports whether an address has more bits.
func areWide(a, b uint64) bool {
	const half = 1 << (addressBits - 1)
	return ((a+half)|(b+half))>>addressBits != 0
}

// slot returns a number whose low bits select a slot. Consecutive numbers would share the low bits of either word.
func (f fingerprint) slot() uint64 { return fold(f[0], f[1]) }

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func address(s string) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.StringData(s)))) }
