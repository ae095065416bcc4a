// Package budget keeps account of the memory that a reader holds, for whoever bounds it.
package budget

// Account is what somebody holds.
type Account struct {
	// Hold is told how many bytes more are held, or less for a negative number. An error ends what needs them. Nil is told nothing.
	Hold func(bytes int64) error
	told int64
	// used is what was asked for by Take, and refused is set where that was too much.
	used    int64
	refused bool
}

// free is how much Take may hand out before it tells Hold, so that small records cost no calls.
const free = 64 << 10

// Take asks for n bytes more, before they are used, and reports whether Hold allows them. Once it does not, nothing more is
// allowed until Reset, which gives all of them back.
func (a *Account) Take(n int) bool {
	if a.Hold == nil {
		return true
	}
	a.used += int64(n)
	if a.used > a.told+free && !a.refused {
		more := a.used - a.told
		a.told += more
		a.refused = a.Hold(more) != nil
	}
	return !a.refused
}

// Reset gives back what Take took.
func (a *Account) Reset() {
	a.used = 0
	a.refused = false
	if a.told != 0 {
		a.Free()
	}
}

// Set tells Hold that so many bytes are held, unless that differs by less than step from what it was told.
func (a *Account) Set(held, step int64) error {
	more := held - a.told
	if a.Hold == nil || max(more, -more) < step {
		return nil
	}
	a.told = held
	return a.Hold(more)
}

// Free tells Hold that nothing is held any more.
func (a *Account) Free() { _ = a.Set(0, 1) } // less than before

// UpTo returns hold, or where that is nil a function that holds up to most bytes and returns an error beyond.
func UpTo(most int64, tooMuch error, hold func(bytes int64) error) func(bytes int64) error {
	if hold != nil {
		return hold
	}
	held := int64(0)
	return func(bytes int64) error {
		if held += bytes; held > most {
			return tooMuch
		}
		return nil
	}
}
