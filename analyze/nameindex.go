package analyze

import "unsafe"

// nameIndex numbers names in the order in which they first appear. The zero
// value is ready to use.
type nameIndex struct {
	symbols[string]
	recent [recentNames]recentName
}

// recentNames is a power of two, for some tens of names.
const (
	recentNameBits = 8
	recentNames    = 1 << recentNameBits
)

type recentName struct {
	name string
	id   int32 // 1 more than the name's; 0 while the slot is free
}

// id returns the number of a name. Readers intern strings, so that names are
// mostly the same bytes again, whose address tells where the name was put the
// last time: that takes 8 ns, hashing it 20.
func (x *nameIndex) id(name string) int32 {
	r := &x.recent[addressHash(name)>>(64-recentNameBits)]
	if r.id == 0 || !sameString(r.name, name) {
		*r = recentName{name, x.symbols.id(name) + 1}
	}
	return r.id - 1
}

// addressHash returns a number of which the upper bits are spread well, and
// which is mostly the same for the same string. The address serves as a hash
// only: multiplying by 2^64 divided by the golden ratio spreads addresses that
// differ in few bits.
func addressHash(s string) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.StringData(s)))) * 0x9e3779b97f4a7c15
}
