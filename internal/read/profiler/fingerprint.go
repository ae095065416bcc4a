package profiler

import "math/bits"

// Fingerprint folds a sequence of numbers into one.
type Fingerprint uint64

// Add adds two numbers.
func (f *Fingerprint) Add(a, b uint64) {
	hi, lo := bits.Mul64(uint64(*f)^a^0x9e3779b97f4a7c15, b^0xd1342543de82ef95)
	*f = Fingerprint(bits.RotateLeft64(uint64(*f), 23) ^ hi ^ lo)
}
